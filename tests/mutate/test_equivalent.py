"""Mutators that keep the meaning: what a mutant computes is what its seed does, and each does what its name says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.model_interface.expose_value import MOST_OUTPUTS
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Mutator, Relation, Skipped
from irfuzz.mutate.mutator_table import BUILTIN, build_mutators
from irfuzz.spec import Specs

Parse = Callable[..., Program]
Table = dict[str, Mutator]


@pytest.fixture(scope="module")
def table(specs: Specs) -> Table:
    return build_mutators(Context(specs))


EQUIVALENT = sorted(name for name, make in BUILTIN.items() if getattr(make, "relation", None) is Relation.EQUIVALENT)


def outputs_of(program: Program, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(program.to_bytes(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    wanted = {value.name for value in session.get_inputs()}
    return dict(zip(names, session.run(names, {k: v for k, v in inputs.items() if k in wanted}), strict=True))


def apply(mutator: Mutator, program: Program, site: str, seed: int) -> Program:
    work = program.clone()
    answer = mutator.apply(work, site, Choices.from_seed(seed))
    assert isinstance(answer, str), answer
    onnx.checker.check_model(work.to_proto(), full_check=True)
    return work


def ops(program: Program) -> list[str]:
    return [node.op_type for node in program.nodes()]


def some_input(program: Program) -> dict[str, np.ndarray]:
    return {name: value for name, value in make_inputs(program, 3).items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("model", ["lenet5", "lstm", "qcnn"])
@pytest.mark.parametrize("name", EQUIVALENT)
def test_the_mutant_computes_what_its_seed_does(
    name: str, model: str, table: Table, specs: Specs, seeds: dict[str, Program]
) -> None:
    program, mutator, choices = seeds[model], table[name], Choices.from_seed(f"{name}{model}")
    made = 0
    for _ in range(2):
        work = program.clone()
        for _ in range(3):
            before = work.to_bytes()
            sites = mutator.sites(work)
            if not sites:
                break
            answer = mutator.apply(work, choices.pick(sites), choices)
            made += isinstance(answer, str)
            if isinstance(answer, Skipped):
                assert work.to_bytes() == before, f"{answer.reason}: but something changed"
        assert verify(work, specs) == []
        onnx.checker.check_model(work.to_proto(), full_check=True)
        # A size that became a number holds of the mutant only, one that became a name has more values there.
        inputs = some_input(work if name == "symbol-to-number" else program)
        got = outputs_of(work, {**some_input(work), **inputs})
        for output, array in outputs_of(program, inputs).items():
            np.testing.assert_allclose(got[output], array, rtol=1e-4, atol=1e-5)
        for value in work.graph.outputs:
            fact = work.fact(value)
            assert isinstance(fact, TensorFact)
            assert fact.shape is not None
            shape = got[value.name or ""].shape
            assert all(type(d) is not int or d == n for d, n in zip(fact.shape, shape, strict=True))
    if not made:
        pytest.skip("the model has nothing that this mutator works on")


def test_expose_value(table: Table, parse: Parse) -> None:
    program = parse("g (float[3] x) => (float[3] y) { a = Relu(x) b = Tanh(a) y = Neg(b) }")
    mutator = table["expose-value"]
    assert mutator.sites(program) == ["a", "b"]
    work = apply(mutator, program, "b", 0)
    assert [value.name for value in work.graph.outputs] == ["y", "b"]
    assert mutator.sites(work) == ["a"]
    assert mutator.apply(work, "b", Choices.from_seed(0)) == Skipped(
        "not a computed tensor of known rank that is no output yet"
    )
    many = " ".join(f"v{i} = Relu(x)" for i in range(12))
    outputs = ", ".join(f"float[3] v{i}" for i in range(MOST_OUTPUTS))
    assert mutator.sites(parse(f"g (float[3] x) => ({outputs}) {{ {many} }}")) == []


SHARED = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Add(x, w) b = Mul(a, w) y = Sub(b, w) }"


def test_split_initializer(table: Table, parse: Parse) -> None:
    program, counts = parse(SHARED), set()
    mutator = table["split-initializer"]
    assert mutator.sites(program) == ["w"]
    for seed in range(8):
        work = apply(mutator, program, "w", seed)
        constants = list(work.graph.initializers.values())
        counts.add(len(constants))
        assert all(v.const_value is not None and v.const_value.numpy().tolist() == [1, 2] for v in constants)
        assert sum(len(v.uses()) for v in constants) == 3
    assert counts == {2, 3}


def test_store_constant_goes_there_and_back(table: Table, parse: Parse) -> None:
    program, mutator = parse(SHARED), table["store-constant"]
    node = apply(mutator, program, "w", 0)
    assert ops(node) == ["Constant", "Add", "Mul", "Sub"]
    assert not node.graph.initializers
    fact = node.tensor(node.nodes()[0].outputs[0])
    assert fact is not None
    assert fact.value == (1.0, 2.0)
    back = apply(mutator, node, mutator.sites(node)[0], 0)
    assert back.digest == program.digest


def test_a_constant_of_strings_goes_there_and_back(table: Table, parse: Parse) -> None:
    mutator = table["store-constant"]
    program = parse('g () => (string[2] y) { c = Constant <value_strings = ["a", "b"]> () y = Identity (c) }')
    stored = apply(mutator, program, mutator.sites(program)[0], 0)
    held = next(iter(stored.graph.initializers.values())).const_value
    assert held is not None
    assert held.numpy().tolist() == [b"a", b"b"]
    back = apply(mutator, stored, mutator.sites(stored)[0], 0)
    assert ops(back) == ["Constant", "Identity"]
    assert Program.from_bytes(back.to_bytes()).digest == back.digest


def test_negative_axes(table: Table, parse: Parse) -> None:
    mutator = table["negative-axes"]
    for graph, wanted in (
        ("g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) }", {-2}),
        ("g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = -2> (x) }", {1}),
        ("g (float[2, 3, 4] x) => (float[6, 4] y) { y = Flatten <axis = 2> (x) }", {-1}),
    ):
        program = parse(graph)
        assert {apply(mutator, program, "y", s).nodes()[0].attributes["axis"].as_int() for s in range(3)} == wanted
    # Nothing counts from the end as 3 does: 3 - 3 is the first axis.
    assert mutator.sites(parse("g (float[2, 3, 4] x) => (float[24, 1] y) { y = Flatten <axis = 3> (x) }")) == []
    assert mutator.sites(parse("g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 1> (x) }", opset=11)) == []


SLICED = """g (float[6, 8] x) => (float[2, 3] y)
<int64[2] s = {1, 2}, int64[2] e = {5, 8}, int64[2] a = {0, 1}, int64[2] t = {2, 2}> { y = Slice(x, s, e, a, t) }"""


@pytest.mark.parametrize("starts", [1, [1], [[1], [2]]])
def test_starts_that_do_not_fit_their_axes_are_survived(starts: int | list[object], table: Table) -> None:
    """onnx's checker takes such a Slice, and its inference says nothing as long as one of its inputs is not known."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {SLICED}')
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array(starts, np.int64), "s"))
    model.graph.input.append(onnx.helper.make_tensor_value_info("e", onnx.TensorProto.INT64, [2]))
    assert table["negative-axes"].sites(Program.from_proto(model)) == ["y"]  # for its axes


def test_negative_starts_and_ends(table: Table, parse: Parse) -> None:
    """The end 8 of an axis of size 8 has no other name."""
    program, mutator = parse(SLICED), table["negative-axes"]
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    seen = set()
    for seed in range(30):
        work = apply(mutator, program, "y", seed)
        node = work.nodes()[0]
        arrays = [work.const_array(value) for value in node.inputs[1:4]]
        seen.add(tuple(tuple(a.tolist()) for a in arrays if a is not None))
        np.testing.assert_array_equal(outputs_of(work, {"x": x})["y"], x[1:5:2, 2:8:2])
    assert seen == {
        *(((s, t), (5, 8), (0, 1)) for s, t in ((-5, 2), (1, -6), (-5, -6))),
        ((1, 2), (-1, 8), (0, 1)),
        *(((1, 2), (5, 8), axes) for axes in ((-2, 1), (0, -1), (-2, -1))),
    }


def test_negative_indices(table: Table, parse: Parse) -> None:
    program = parse("g (float[4, 2] x) => (float[2, 2] y) <int64[2] i = {0, 3}> { y = Gather <axis = 0> (x, i) }")
    mutator, seen = table["negative-axes"], set()
    for seed in range(20):
        work = apply(mutator, program, "y", seed)
        array = work.const_array(work.nodes()[0].inputs[1])
        assert array is not None
        seen.add(tuple(array.tolist()))
    assert seen == {(0, 3), (-4, 3), (0, -1), (-4, -1)}  # the first: its axis was turned


def test_transpose_pair(table: Table, parse: Parse) -> None:
    program = parse(
        "g (float[1, 3, 4, 5] x, float[3, 1, 1] c) => (float[1, 3, 4, 5] y) "
        "{ a = Relu(x) b = Add(a, c) y = Softmax <axis = 1> (b) }"
    )
    mutator = table["transpose-pair"]
    assert mutator.sites(program) == ["a", "b", "y"]
    axes, lengths = set(), set()
    for seed in range(40):
        work = apply(mutator, program, "y", seed)
        names = ops(work)
        lengths.add(len(names))
        first, last = names.index("Transpose"), len(names) - 1
        assert names[last] == "Transpose"
        assert "Softmax" in names[first:last]
        axes.add(next(n for n in work.nodes() if n.op_type == "Softmax").attributes["axis"].as_int())
    assert axes == {0, 1, 2, 3}
    assert {5, 7} <= lengths  # one layer between the pair; all three, with the layout of both inputs changed
