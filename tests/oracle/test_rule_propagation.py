"""Elements that rules decide are followed through a program: from what is fed, and no further than they are known."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import pytest

from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.ir.program import Program
from irfuzz.oracle.onnx_rules import rule_propagation
from irfuzz.oracle.onnx_rules.known_elements import Elements
from irfuzz.oracle.onnx_rules.rule_propagation import MOST, DecidedValues
from tests.oracle.rule_calls import INF, NAN, OPEN, same, told

pytestmark = pytest.mark.unit


def decided(program: Program, **fed: Any) -> DecidedValues:
    return DecidedValues(program, fed, ExactIntegers(program, fed))


def of(program: Program, name: str = "y", **fed: Any) -> Any:
    """What is known of a value, with ``None`` for open elements; ``None`` if nothing is."""
    found = decided(program, **fed).of(program.value(name))
    return None if found is None else told(found)


def single(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def test_what_is_omitted_is_not_known(parse) -> None:
    assert decided(parse("g (float[1] x) => (float[1] y) { y = Neg(x) }"), x=single(1)).of(None) is None


@pytest.mark.parametrize(("size", "followed"), [(MOST, True), (MOST + 1, False)])
def test_tensors_are_followed_up_to_a_size(parse, size: int, followed: bool) -> None:
    x = np.ones(size, np.float32)
    assert (of(parse(f"g (float[{size}] x) => (float[{size}] y) {{ y = Neg(x) }}"), x=x) is not None) == followed
    wide = parse(f"g (float[1] x) => (float[{size}] y) <int64[1] s = {{{size}}}> {{ y = Expand(x, s) }}")
    assert (of(wide, x=single(1)) is not None) == followed
    text = "g (float[1] x) => (float[n] y) { c = ConstantOfShape<value = float[1] {2.0}>(s)  y = Neg(c) }"
    held = parse(text.replace("(float[n] y)", f"(float[n] y) <int64[1] s = {{{size}}}>"))
    assert (of(held, x=single(1)) is not None) == followed


def test_what_is_not_fed_or_no_number_is_not_known(parse) -> None:
    program = parse("g (float[1] x, float[1] z) => (float[1] y) { a = Neg(z)  y = Neg(x) }")
    assert of(program, "a", x=single(1)) is None
    assert of(program, "z", x=single(1)) is None
    assert of(program, "y", x=single(1)) == [-1]
    assert of(parse("g (string[1] x) => (string[1] y) { y = Identity(x) }"), x=np.array(["a"], object)) is None


def test_a_rule_comes_before_the_elements_of_a_constant(parse) -> None:
    """A sum of constants is rounded, and so open; elements that no rule gave are those of the constant."""
    head = "g (float[1] x) => (float[2] y) <float[2] a = {0.1, 1}, float[2] b = {0.7, 2}>"
    program = parse(f"{head} {{ c = Add(a, b)  y = Neg(c) }}")
    assert program.const_array(program.value("c")) is not None
    assert of(program, "c", x=single(1)) == [OPEN, OPEN]
    assert same(of(program, "a", x=single(1)), single(0.1, 1).tolist())


def test_an_input_that_has_a_default_is_what_is_fed() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) { y = Neg(x) }'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(single(3), "x"))
    program = Program.from_proto(model)
    assert of(program, "x") is None
    assert of(program, "x", x=single(1)) == [1]


@pytest.mark.parametrize(
    ("node", "x", "wanted"),
    [
        ("Neg(x)", single(1, NAN, -INF), [-1, NAN, INF]),
        ("Neg(x)", single(2.0**-126, 2.0**-127, 0, -(2.0**-127)), [-(2.0**-126), OPEN, -0.0, OPEN]),
        ("Sin(x)", single(1, INF), [OPEN, NAN]),
        ("Neg(x)", np.array([1, -7]), [-1, 7]),
        ("Add(x, x)", np.array([1, 2**62 - 1]), [2, 2**63 - 2]),
        ("Add(x, x)", np.array([1, 2**62]), None),  # beyond its type
        ("Neg(x)", np.array([1, 2], ml_dtypes.bfloat16), [-1, -2]),
        ("org.example.Neg(x)", single(1), None),
    ],
)
def test_one_node(node: str, x: np.ndarray, wanted: Any) -> None:
    kind = {"f": "float", "i": "int64"}.get(x.dtype.kind, "bfloat16")
    head = '<ir_version: 8, opset_import: ["" : 18, "org.example" : 1]>'
    text = f"{head} g ({kind}[{x.size}] x) => ({kind}[{x.size}] y) {{ y = {node} }}"
    found = of(Program.from_proto(onnx.parser.parse_model(text)), x=x)
    assert (
        found is None
        if wanted is None
        else np.array_equal(
            np.array([np.nan if e is None else e for e in found], float),
            np.array([np.nan if e is None else e for e in wanted], float),
            equal_nan=True,
        )
        and [e is None for e in found] == [e is None for e in wanted]
    )


def test_a_call_that_breaks_a_rule_gives_nothing(parse) -> None:
    head = "g (float[2] x, int64[1] i) => (float[1] y)"
    program = parse(f"{head} {{ y = Gather(x, i) }}")
    assert of(program, x=single(1, 2), i=np.array([1])) == [2]
    assert of(program, x=single(1, 2), i=np.array([2])) is None


def test_attributes_that_are_those_of_a_function_give_nothing(monkeypatch: pytest.MonkeyPatch, parse) -> None:
    program = parse("g (float[1,2] x) => (float[2,1] y) { y = Transpose<perm = [1, 0]>(x) }")
    x = np.array([[1, 2]], np.float32)
    assert of(program, x=x) == [[1], [2]]
    monkeypatch.setattr(type(program), "attrs", lambda self, node: {})
    assert of(program, x=x) is None


def test_what_a_rule_gives_has_the_declared_sizes_and_type(monkeypatch: pytest.MonkeyPatch, parse) -> None:
    floats = parse("g (float[2] x) => (float[2] y) { y = Neg(x) }")

    def given(elements: Any, program: Program = floats) -> Any:
        monkeypatch.setattr(rule_propagation, "RULES", dict.fromkeys(rule_propagation.RULES, lambda *_: elements))
        return of(program, x=single(1, 2))

    assert given(Elements.whole(np.array([3.0, 4.0]))) == [3, 4]
    assert given([Elements.whole(np.array([3.0, 4.0]))]) == [3, 4]
    assert given(Elements.whole(np.array([3.0]))) is None
    assert given([None]) is None
    assert given([]) is None
    whole = parse("g (int64[2] x) => (int64[2] y) { y = Neg(x) }")
    assert given(Elements.whole(np.array([3, 4])), whole) == [3, 4]
    assert given(Elements(np.array([3, 4]), np.array([True])), whole) is None


def test_types_of_another_kind_are_no_elements() -> None:
    whole, floats = Elements.whole(np.array([1, 2])), Elements.whole(np.array([1.0, 2.0]))
    assert rule_propagation._of_type(floats, np.dtype("i8")) is None
    assert rule_propagation._of_type(whole, np.dtype("O")) is None
    assert rule_propagation._of_type(whole, np.dtype("i1")).values.dtype == np.int8  # type: ignore[union-attr]
    assert rule_propagation._of_type(whole, np.dtype("f4")).values.dtype == np.float64  # type: ignore[union-attr]
