"""Whole numbers of a program: what is computed of them exactly, and what is not known."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnx.reference
import pytest

from irfuzz.ir.evaluation import exact_integer_evaluation
from irfuzz.ir.evaluation.exact_integer_evaluation import REFUSED, ExactIntegers
from irfuzz.ir.evaluation.exact_integer_rules import EXACT, ON_THE_WAY
from irfuzz.ir.program import Program

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


def parse(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(HEAD + text))


def computed(program: Program, **inputs: np.ndarray) -> np.ndarray | None:
    return ExactIntegers(program, inputs).of(program.graph.outputs[0])


X = np.array([[7, -3, 2], [-8, 5, -1]], np.int64)


@pytest.mark.parametrize(
    "body",
    [
        "y = Add(x, two)",
        "y = Sub(two, x)",
        "y = Mul(x, x)",
        "y = Div(x, two)",
        "y = Mod(x, two)",
        "y = Mod<fmod=1>(x, two)",
        "y = Neg(x)",
        "y = Abs(x)",
        "y = Sign(x)",
        "y = Pow(x, two)",
        "y = Max(x, two)",
        "y = Min(x, two)",
        "y = Clip(x, , two)",
        "y = Clip(x, two)",
        "y = ReduceSum(x)",
        "y = ReduceSum<keepdims=0>(x, one)",
        "y = ReduceSum<noop_with_empty_axes=1>(x)",
        "y = ReduceMax<keepdims=0>(x, one)",
        "y = ReduceMin(x)",
        "y = ReduceProd(x, one)",
        "y = ReduceL1(x, one)",
        "y = ReduceSumSquare(x, one)",
        "y = CumSum(x, axis)",
        "y = CumSum<reverse=1>(x, axis)",
        "y = CumSum<exclusive=1>(x, axis)",
        "y = CumSum<exclusive=1, reverse=1>(x, axis)",
        "t = Transpose(x) y = MatMul(x, t)",
        't = Identity(x) y = Einsum<equation="ij,kj->ki">(x, t)',
        "y = Gather<axis=1>(x, one)",
        "y = Slice(x, zero, two1, one)",
        "y = Flatten(x)",
        "y = Tile(x, twos)",
        "y = Concat<axis=0>(x, x)",
        "y = Transpose(x)",
        "y = Unsqueeze(x, one)",
        "y = Reshape(x, minus)",
        "y = Expand(x, shape)",
        "g = Greater(x, two) y = Where(g, x, two)",
        "y = Cast<to=6>(x)",
        "f = Cast<to=1>(x) y = Cast<to=7>(f)",
    ],
)
def test_as_the_reference_computes_it(body: str) -> None:
    constants = (
        "int64 two = {2}, int64 axis = {1}, int64[1] one = {1}, int64[1] zero = {0}, int64[1] two1 = {2}, "
        "int64[2] twos = {2, 2}, int64[1] minus = {-1}, int64[3] shape = {2, 2, 3}"
    )
    kind = "int32" if "to=6" in body else "int64"
    model = onnx.parser.parse_model(
        f"{HEAD} g (int64[2,3] x) => ({kind}[..] y) <{constants}> {{ {body} }}".replace("[..]", "[N]")
    )
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    expected = np.asarray(onnx.reference.ReferenceEvaluator(model).run(None, {"x": X})[0])
    found = computed(Program.from_proto(model), x=X)
    if "f = Cast" in body:
        assert found is None  # floating point is not followed through arithmetic or conversions to it
        return
    assert found is not None
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("body", "x", "exceeds"),
    [
        ("y = Add(x, x)", [2**62 - 1, 1], False),
        ("y = Add(x, x)", [2**62, 1], True),
        ("y = Neg(x)", [-(2**63), 1], True),
        ("y = Neg(x)", [-(2**63) + 1, 1], False),
        ("y = Div(x, minus)", [-(2**63), 1], True),
        ("y = Mul(x, x)", [3037000499, 1], False),
        ("y = Mul(x, x)", [3037000500, 1], True),
        ("y = CumSum(x, zero)", [2**63 - 1, 1], True),
        ("y = Div(x, zero)", [1, 1], None),
        ("y = Abs(x)", [-(2**63), 1], True),
    ],
)
def test_a_result_beyond_its_type(body: str, x: list[int], exceeds: bool | None) -> None:
    program = parse(f"g (int64[2] x) => (int64[2] y) <int64 minus = {{-1}}, int64 zero = {{0}}> {{ {body} }}")
    run = ExactIntegers(program, {"x": np.array(x, np.int64)})
    assert run.exceeds(program.nodes()[-1]) is exceeds
    assert run.fit is not exceeds or exceeds is None


@pytest.mark.parametrize(
    "op", ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Pow", "Neg", "Abs", "ReduceSum", "CumSum"]
)
def test_a_single_integer_is_one_of_any_size(op: str) -> None:
    arguments = {"Neg": "x", "Abs": "x", "ReduceSum": "x", "CumSum": "row, zero"}.get(op, "x, minus")
    body = f"row = Reshape(x, ones) y = {op}({arguments})" if op == "CumSum" else f"y = {op}({arguments})"
    rank = "[1]" if op == "CumSum" else ""
    program = parse(
        f"g (int64 x) => (int64{rank} y) <int64 minus = {{-1}}, int64 zero = {{0}}, int64[1] ones = {{1}}> {{ {body} }}"
    )
    run = ExactIntegers(program, {"x": np.array(-(2**63), np.int64)})
    assert (run.of(program.graph.outputs[0]) is None) == (op == "Pow")
    assert run.exceeds(program.nodes()[-1]) is {"Pow": None}.get(op, op in ("Add", "Mul", "Div", "Neg", "Abs"))


def test_what_wrapped_around_goes_on_as_it_does_in_processors() -> None:
    program = parse("g (int64[1] x) => (int64[1] y) { t = Add(x, x) y = ReduceMax(t) }")
    np.testing.assert_array_equal(computed(program, x=np.array([2**62 + 3], np.int64)), [-(2**63) + 6])


@pytest.mark.parametrize("size", [exact_integer_evaluation.MOST, exact_integer_evaluation.MOST + 1])
def test_large_tensors_are_not_known(size: int) -> None:
    program = parse(f"g (int64[{size}] x) => (int64[{size}] y) {{ y = Neg(x) }}")
    assert (computed(program, x=np.ones(size, np.int64)) is None) == (size > exact_integer_evaluation.MOST)


def test_floats_are_not_followed_through_arithmetic() -> None:
    program = parse("g (float[1] x) => (int64[1] y) { t = Add(x, x) c = Cast<to=7>(t) y = Add(c, c) }")
    run = ExactIntegers(program, {"x": np.ones(1, np.float32)})
    assert run.of(program.graph.outputs[0]) is None
    assert run.exceeds(program.nodes()[-1]) is None


@pytest.mark.parametrize(("x", "known"), [(3.7, True), (9.3e18, False), (np.nan, False), (-9.3e18, False)])
def test_a_float_that_is_fed_is_known_when_it_is_cast(x: float, known: bool) -> None:
    program = parse("g (double[1] x) => (int64[1] y) { y = Cast<to=7>(x) }")
    found = computed(program, x=np.array([x]))
    assert (found is not None) == known
    assert not known or found == [3]


@pytest.mark.parametrize("op", sorted({*EXACT, *ON_THE_WAY}))
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0)])
def test_rules_give_integers_of_any_size_at_every_rank(op: str, shape: tuple[int, ...]) -> None:
    """NumPy unwraps a single object, and makes a 64-bit integer of it again where nobody looks."""
    operand = np.full(shape, 2**63 + 5, np.uint64)
    once = op in ("Abs", "Neg") or op.startswith("Reduce")
    given = [operand] if once else [operand, np.array(0)] if op.startswith("Cum") else [operand, operand]
    letters = "ijk"[: len(shape)]
    attrs = {"equation": f"{letters},{letters}->{letters}"} if op == "Einsum" else {}
    rules = [table[op] for table in (EXACT, ON_THE_WAY) if op in table]
    for rule in rules:
        try:
            found = rule(attrs, given)
        except REFUSED:
            assert op in ("MatMul", "CumSum", "CumProd", "ReduceMax", "ReduceMin")  # not defined at this rank
            return
        assert found is None or all(type(e) is int for e in np.asarray(found, dtype=object).ravel())
