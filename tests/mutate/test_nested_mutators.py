"""Mutators that go through sequences, optionals, strings and drawn numbers: the result runs, and says what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import OpaqueFact, SequenceFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.fact_type_conversion import proto_of_fact
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.editing.mutation_sites import flow_values
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Mutator, Relation, Skipped
from irfuzz.mutate.mutator_table import build_mutators
from irfuzz.oracle.dataflow.output_uncertainty_sources import path_to
from irfuzz.spec import Specs

NAMES = ("insert-sequence", "insert-optional", "insert-strings", "insert-random")
BODY = """g (float[N, 4, 3] x, int64[2, 3] k) => (float[N, 12] y, int64[2, 3] z)
<float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[2] s = {-1, 12}>
{ h = MatMul(x, w) r = Tanh(h) y = Reshape(r, s) a = Abs(k) z = Add(a, k) }"""
ADDS = frozenset({
    "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement",
    "StringNormalizer", "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
})  # fmt: skip


@pytest.fixture(scope="module")
def table(specs: Specs) -> dict[str, Mutator]:
    return build_mutators(Context(specs))


def run(program: Program, names: list[str]) -> list[object]:
    """Named values on ONNXRuntime without optimisation."""
    proto = program.to_proto()
    known = {o.name for o in proto.graph.output}
    for name in names:
        value = program.value(name)
        assert value is not None
        if name not in known:
            proto.graph.output.append(onnx.ValueInfoProto(name=name, type=proto_of_fact(program.fact(value))))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(names, make_inputs(program, 3)))


def inner(program: Program) -> list[str]:
    return [
        v.name for n in program.nodes() for v in n.outputs if v.name and not isinstance(program.fact(v), OpaqueFact)
    ]


def edited(mutator: Mutator, program: Program, seed: int, edits: int = 2) -> tuple[Program, list[str | Applied]]:
    """A clone with some edits, whose records make the same again."""
    work, again = program.clone(), program.clone()
    choices, done = Choices.from_seed(seed), list[str | Applied]()
    for _ in range(edits):
        site = choices.pick(mutator.sites(work))
        mark, before = choices.mark(), work.to_bytes()
        answer = mutator.apply(work, site, choices)
        if isinstance(answer, Skipped):
            assert work.to_bytes() == before, answer
            continue
        done.append(answer)
        mutator.apply(again, site, Choices.from_record(choices.record[mark:]))
        assert again.to_bytes() == work.to_bytes()
    return work, done


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("name", NAMES)
def test_mutants_are_valid_and_run_as_their_facts_say(
    name: str, opset: int, table: dict[str, Mutator], parse: Callable[..., Program], specs: Specs
) -> None:
    program = parse(BODY, opset, 9 if opset > 18 else 8)
    plain = run(program, ["y", "z"])
    ops: Counter[str] = Counter()
    sequences = made = 0
    for seed in range(24):
        work, done = edited(table[name], program, seed)
        made += len(done)
        assert verify(work, specs) == []
        onnx.checker.check_model(work.to_proto(), full_check=True)
        names = inner(work)
        for text, value in zip(names, run(work, names), strict=True):
            found = work.value(text)
            assert found is not None
            fact = work.fact(found)
            sequences += isinstance(fact, SequenceFact)
            assert contradiction(fact, value) is None, (text, contradiction(fact, value))
        ops.update(node.op_type for node in work.nodes())
        relations = {a.relation if isinstance(a, Applied) else table[name].relation for a in done}
        if relations == {Relation.EQUIVALENT}:
            for old, new in zip(plain, run(work, ["y", "z"]), strict=True):
                np.testing.assert_array_equal(np.asarray(old), np.asarray(new))
    assert made > 36
    wanted = {
        "insert-sequence": {op for op in ADDS if op.startswith(("Seq", "Split", "Concat", "OptionalG"))},
        "insert-optional": {"Optional", "OptionalGetElement", "OptionalHasElement"},
        "insert-strings": {
            "StringNormalizer",
            *(("StringConcat", "StringSplit", "RegexFullMatch") if opset > 19 else ()),
        },
        "insert-random": {op for op in ADDS if op.startswith("Random")} | {"Bernoulli", "Multinomial", "Dropout"},
    }[name]
    assert wanted <= set(ops), wanted - set(ops)
    assert (sequences > 0) == (name == "insert-sequence")


def test_numbers_come_back_from_text(table: dict[str, Mutator], parse: Callable[..., Program]) -> None:
    """Operators that keep what a text says give the numbers that were written, whatever type they are read as."""
    program = parse("g (int64[3, 2] x) => (int64[3, 2] y) { h = Neg(x) y = Abs(h) }")
    kept = 0
    for seed in range(40):
        work = program.clone()
        answer = table["insert-strings"].apply(work, "h", Choices.from_seed(seed))
        assert isinstance(answer, str)
        if "Where" in answer or "Concat" in answer:
            continue
        kept += 1
        np.testing.assert_array_equal(run(work, ["y"])[0], run(program, ["y"])[0])  # type: ignore[arg-type]
    assert kept > 10


def test_nothing_drawn_reaches_what_there_was(
    table: dict[str, Mutator], parse: Callable[..., Program], specs: Specs
) -> None:
    """The oracles go on comparing the outputs that the program had; those that are new may be random."""
    program = parse(BODY)
    fresh = 0
    for seed in range(30):
        work, _ = edited(table["insert-random"], program, seed, 1)
        inputs = make_inputs(work, 1)
        for output in work.graph.outputs:
            random = path_to(work, output, inputs, specs).random
            if output.name in ("y", "z"):
                assert random == ()
            else:
                fresh += 1
                assert random
    assert fresh > 5


def test_a_longer_way_through_a_sequence_is_described(table: dict[str, Mutator], parse: Callable[..., Program]) -> None:
    program = parse(BODY)
    details = [str(done[0]) for seed in range(30) if (done := edited(table["insert-sequence"], program, seed, 1)[1])]
    assert any("SplitToSequence" in d and "ConcatFromSequence" in d for d in details)
    assert any("SequenceMap of" in d for d in details)
    assert all(" through " in d for d in details)


def test_text_that_is_read_as_a_number_is_left_alone_and_what_it_is_written_from_is_not(
    parse: Callable[..., Program],
) -> None:
    program = parse(
        "g (int64[3] x) => (int64[3] y) { h = Neg(x) s = Cast<to=8>(h) t = Identity(s) n = Cast<to=7>(t) y = Abs(n) }"
    )
    assert [v.name for v in flow_values(program)] == ["x", "h", "n", "y"]


def test_what_goes_into_a_sequence_may_still_be_changed(parse: Callable[..., Program]) -> None:
    program = parse(
        """g (float[3] x) => (float[3] y)
        { h = Neg(x) k = Constant<value = int64 {0}>() c = SequenceConstruct(h, x) i = SequenceInsert(c, h, k)
          m = SequenceMap<body = b (float[3] e) => (float[3] o) { o = Relu(e) }>(i) y = SequenceAt(m, k) }"""
    )
    assert [v.name for v in flow_values(program)] == ["x", "h", "y"]
