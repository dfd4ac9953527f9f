"""Constants and sizes become open and closed again, and what the input generator then draws is valid."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.input_domain import KEY, SIZES, InputDomain, input_domain, input_sizes, set_input_domain
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.model_interface.constant_to_input import MOST_INPUTS
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Mutator, Skipped
from irfuzz.mutate.mutator_table import build_mutators
from irfuzz.spec import Specs

Parse = Callable[..., Program]
Table = dict[str, Mutator]

OPENERS = ("constant-to-input", "input-to-constant", "dimension-to-symbol", "symbol-to-number")


@pytest.fixture(scope="module")
def table(specs: Specs) -> Table:
    return build_mutators(Context(specs))


def apply(mutator: Mutator, program: Program, site: str, seed: int = 0) -> Program:
    work = program.clone()
    answer = mutator.apply(work, site, Choices.from_seed(seed))
    assert isinstance(answer, str), answer
    onnx.checker.check_model(work.to_proto(), full_check=True)
    return work


def run(program: Program, seed: int) -> list[np.ndarray]:
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(program.to_bytes(), options, providers=["CPUExecutionProvider"])
    return session.run(None, make_inputs(program, seed))


def drawn(program: Program, name: str, seed: int) -> np.ndarray:
    value = make_inputs(program, seed)[name]
    assert isinstance(value, np.ndarray)
    return value


@pytest.mark.parametrize("model", ["lenet5", "lstm", "transformer", "qcnn"])
def test_mutants_run_on_whatever_is_drawn(model: str, table: Table, specs: Specs, seeds: dict[str, Program]) -> None:
    made = dict.fromkeys(OPENERS, 0)
    for round_ in range(4):
        choices = Choices.from_seed(f"{model}{round_}")
        work = seeds[model].clone()
        for _ in range(5):
            name = choices.pick(OPENERS)
            before, sites = work.to_bytes(), table[name].sites(work)
            answer = table[name].apply(work, choices.pick(sites), choices) if sites else Skipped("no site")
            made[name] += isinstance(answer, str)
            assert isinstance(answer, str) or work.to_bytes() == before
        assert verify(work, specs) == []
        onnx.checker.check_model(work.to_proto(), full_check=True)
        again = Program.from_bytes(work.to_bytes())
        for seed in range(3):
            arrays = run(again, seed)
            for value, array in zip(work.graph.outputs, arrays, strict=True):
                fact = work.tensor(value)
                assert fact is not None
                assert fact.shape is not None
                assert len(fact.shape) == array.ndim
                assert all(type(d) is not int or d == n for d, n in zip(fact.shape, array.shape, strict=True))
    assert made["constant-to-input"]


SHAPES = """g (float[4, 6] x) => (float[6, 2] y)
<int64[2] s = {6, 4}, int64[2] i = {0, 3}, float[4] w = {0.5, 1, 2, 4}>
{ a = Reshape(x, s) b = Mul(a, w) y = Gather <axis = 1> (b, i) }"""


def test_what_decides_a_shape_stays_and_the_rest_stays_within_its_range(table: Table, parse: Parse) -> None:
    program, mutator = parse(SHAPES), table["constant-to-input"]
    assert mutator.sites(program) == ["s", "i", "w"]
    shape = apply(mutator, program, "s")
    given = shape.graph.inputs[-1]
    assert input_domain(given) == InputDomain(4, 6, (6, 4))
    fact = shape.tensor(shape.graph.outputs[0])
    assert fact is not None
    assert fact.shape is not None
    assert len(fact.shape) == 2
    assert all(drawn(shape, given.name or "", seed).tolist() == [6, 4] for seed in range(9))
    assert run(shape, 1)[0].shape == (6, 2)
    index = apply(mutator, program, "i")
    assert input_domain(index.graph.inputs[-1]) == InputDomain(0, 3)
    name = index.graph.inputs[-1].name or ""
    elements = {e for seed in range(30) for e in drawn(index, name, seed).tolist()}
    assert elements == {0, 1, 2, 3}
    weight = apply(mutator, program, "w")
    array = drawn(weight, weight.graph.inputs[-1].name or "", 5)
    assert array.dtype == np.float32
    assert array.min() >= 0.5
    assert array.max() <= 4
    all_given = apply(mutator, apply(mutator, shape, "i"), "w")
    assert not all_given.graph.initializers
    assert len({run(all_given, seed)[0].tobytes() for seed in range(3)}) == 3


def test_an_index_that_picks_a_size_is_exact(table: Table, parse: Parse) -> None:
    """The product of the sizes that the index picks is the new shape."""
    program = parse("""g (float[4, 6] x) => (float[24] y) <int64[2] i = {0, 1}>
    { s = Shape(x) d = Gather(s, i) n = ReduceProd(d) y = Reshape(x, n) }""")
    work = apply(table["constant-to-input"], program, "i")
    assert input_domain(work.graph.inputs[-1]) == InputDomain(0, 1, (0, 1))
    assert run(work, 4)[0].shape == (24,)


def test_an_output_of_unknown_rank_is_refused(table: Table, parse: Parse) -> None:
    program = parse("g (float[1, 1, 3] x) => (float[3] y) <int64[2] a = {0, 1}> { y = Squeeze(x, a) }")
    before = program.to_bytes()
    answer = table["constant-to-input"].apply(program, "a", Choices.from_seed(0))
    assert answer == Skipped("a rank would be unknown")
    assert program.to_bytes() == before


def test_there_is_a_limit_to_inputs(table: Table, parse: Parse) -> None:
    inputs = ", ".join(f"float[2] x{i}" for i in range(MOST_INPUTS))
    terms = ", ".join(f"x{i}" for i in range(MOST_INPUTS))
    program = parse(f"g ({inputs}) => (float[2] y) <float[2] w = {{1, 2}}> {{ y = Sum({terms}, w) }}")
    assert table["constant-to-input"].sites(program) == []


def test_there_and_back(table: Table, parse: Parse) -> None:
    program = parse(SHAPES)
    given = apply(table["constant-to-input"], program, "s")
    name = given.graph.inputs[-1].name or ""
    back = apply(table["input-to-constant"], given, name)
    assert back.digest == program.digest
    assert [value.name for value in back.graph.inputs] == ["x"]
    fact = back.tensor(back.graph.outputs[0])
    assert fact is not None
    assert fact.shape == (6, 2)


def test_the_last_input_stays(table: Table, parse: Parse) -> None:
    mutator = table["input-to-constant"]
    assert mutator.sites(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")) == []
    program = parse("g (float[2] x, int64[1] s) => (float[a] y) { y = Reshape(x, s) }")
    assert mutator.apply(program, "s", Choices.from_seed(0)) == Skipped(
        "its elements decide shapes, and no domain says which are right"
    )
    fixed = apply(mutator, program, "x")
    assert [value.name for value in fixed.graph.inputs] == ["s"]


def test_a_size_becomes_a_name_and_what_cannot_follow_stays_out(table: Table, parse: Parse) -> None:
    """``x`` may have more rows, but not more columns than the weights."""
    program = parse(
        "g (float[3, 2] x) => (float[3, 4] y) <float[2, 4] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul(x, w) }"
    )
    seen: dict[int, set[int]] = {0: set(), 1: set()}
    for seed in range(12):
        work = apply(table["dimension-to-symbol"], program, "x", seed)
        fact = work.tensor(work.graph.inputs[0])
        assert fact is not None
        assert fact.shape is not None
        axis = 0 if fact.shape[0] == "size_0" else 1
        sizes = input_sizes(work.graph.inputs[0])["size_0"]
        seen[axis].update(sizes)
        got = {drawn(work, "x", s).shape[axis] for s in range(20)}
        assert got == set(sizes)
        assert run(work, seed)[0].shape[1] == 4
    assert seen[1] == {2}
    assert 3 in seen[0]
    assert len(seen[0]) > 2


def test_a_name_becomes_a_number_at_all_inputs(table: Table, parse: Parse) -> None:
    program = parse("g (float[n, 2] x, float[n, m] z) => (float[n, k] y) { y = Concat <axis = 1> (x, z) }")
    names = set()
    for seed in range(12):
        work = apply(table["symbol-to-number"], program, "z", seed)
        x, z = (work.tensor(value) for value in work.graph.inputs)
        assert x is not None
        assert z is not None
        assert x.shape is not None
        assert z.shape is not None
        names.add(next(name for name in ("n", "m") if name not in z.shape))
        assert x.shape[0] == z.shape[0]
    assert names == {"n", "m"}
    opened = apply(table["dimension-to-symbol"], parse("g (float[3] x) => (float[3] y) { y = Relu(x) }"), "x")
    allowed = input_sizes(opened.graph.inputs[0])["size_0"]
    closed = apply(table["symbol-to-number"], opened, "x")
    fact = closed.tensor(closed.graph.inputs[0])
    assert fact is not None
    assert fact.shape is not None
    assert fact.shape[0] in allowed
    assert input_sizes(closed.graph.inputs[0]) == {}


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (KEY, "{", "metadata irfuzz.domain is not JSON"),
        (KEY, "[1]", r"expected an object, got '\[1\]'"),
        (KEY, '{"low": 1}', "KeyError"),
        (KEY, '{"low": 2, "high": 1}', "expected low <= high"),
        (KEY, '{"low": NaN, "high": 1}', "expected low <= high"),
        (KEY, '{"exact": ["a"]}', "ValueError"),
        (SIZES, '{"n": []}', r"expected sizes for 'n', got \[\]"),
        (SIZES, '{"n": [-1]}', r"expected sizes for 'n', got \[-1\]"),
    ],
)
def test_metadata_that_nobody_wrote_so(parse: Parse, key: str, text: str, message: str) -> None:
    program = parse("g (float[n] x) => (float[n] y) { y = Relu(x) }")
    program.graph.inputs[0].metadata_props[key] = text
    with pytest.raises(InvalidProgram, match=message):
        make_inputs(program, 0)


def test_a_domain_travels_with_the_model(parse: Parse) -> None:
    program = parse("g (float[3] x, bool[2] c) => (float[3] y, bool[2] d) { y = Relu(x) d = Not(c) }")
    set_input_domain(program.graph.inputs[0], InputDomain(-2.5, -2.0))
    set_input_domain(program.graph.inputs[1], InputDomain(0, 1, (1, 0)))
    for copy in (program.clone(), Program.from_bytes(program.to_bytes()), Program.from_proto(program.to_proto())):
        assert input_domain(copy.graph.inputs[0]) == InputDomain(-2.5, -2.0)
        assert json.loads(copy.graph.inputs[1].metadata_props[KEY]) == {"exact": [1, 0]}
        for seed in range(5):
            assert drawn(copy, "c", seed).tolist() == [True, False]
            assert -2.5 <= drawn(copy, "x", seed).min() <= drawn(copy, "x", seed).max() <= -2.0


def test_conversion_keeps_the_domain(table: Table, parse: Parse) -> None:
    program = apply(table["constant-to-input"], parse(SHAPES), "s")
    work = apply(table["convert-opset"], program, "model")
    assert input_domain(work.graph.inputs[-1]) == InputDomain(4, 6, (6, 4))
