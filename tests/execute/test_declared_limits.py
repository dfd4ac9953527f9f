"""What a component says it does not take, found before it runs: operators, element types, sizes, axes."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from irfuzz.errors import Unsupported
from irfuzz.execute.adapters.declared_limits import NO_LIMITS, DeclaredLimits
from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

NCNN = next(a.limits for a in TOOL_ADAPTERS if a.component == "ncnn")
F = np.float32


def refusal(limits: DeclaredLimits, text: str, **inputs: np.ndarray) -> str:
    """What it says of a model and its inputs; empty if it takes them."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    try:
        limits.check("it", Program.from_proto(model), inputs)
    except Unsupported as error:
        return str(error)
    return ""


RESHAPED = """g (float[2,3] x) => (float[3,2] y) {
    s = Constant <value: tensor = int64[2] {3, 2}> ()
    y = Reshape(x, s)
}"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("g (float[2] x) => (float[2] y) { y = Neg(x) }", ""),
        ("g (float[2] x) => (float[2] y) { y = Identity(x) }", "does not list the operator"),
        (RESHAPED, ""),
        ("g (float[2,3] x, int64[2] s) => (float[M,N] y) { y = Reshape(x, s) }", "no element type INT64"),
        ("g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3, 2}> { y = Reshape(x, s) }", ""),
        ("g (float[1,1,1,1,2] x) => (float[1,1,1,1,2] y) { y = Neg(x) }", ""),
        ("g (float[1,1,1,1,1,2] x) => (float[1,1,1,1,1,2] y) { y = Neg(x) }", "more than 5 axes"),
        ("g (float[1] x) => (float y) { y = Squeeze(x) }", "without dimensions"),
        ("g (float[1] x) => (float[1] y) <float one = {1.0}> { y = Add(x, one) }", ""),
        ("g (float[0] x) => (float[0] y) { y = Neg(x) }", "without elements"),
    ],
)
def test_what_ncnn_says_it_takes(text: str, told: str) -> None:
    assert (told in refusal(NCNN, text)) if told else refusal(NCNN, text) == ""
    assert refusal(NO_LIMITS, text) == ""


def test_operators_of_bodies_count_too() -> None:
    text = """g (float[2] x, bool c) => (float[2] y) {
        y = If (c) <
            then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Sign(x) }
        >
    }"""
    assert refusal(DeclaredLimits(operators=frozenset({"If", "Neg", "Sign"})), text) == ""
    assert "Sign" in refusal(DeclaredLimits(operators=frozenset({"If", "Neg"})), text)


def test_constants_are_bound_by_types_unless_they_are_free() -> None:
    floats = frozenset({"FLOAT"})
    assert "INT64" in refusal(DeclaredLimits(types=floats), RESHAPED)
    assert refusal(DeclaredLimits(types=floats, free_constants=True), RESHAPED) == ""


@pytest.mark.parametrize(
    ("value", "fits"), [(2**31 - 1, True), (2**31, False), (-(2**31), True), (-(2**31) - 1, False)]
)
def test_numbers_that_do_not_fit_into_32_bits(value: int, fits: bool) -> None:
    text = "g (int64[1] x) => (int64[1] y) { y = Identity(x) }"
    assert (refusal(DeclaredLimits(int64_as_int32=True), text, x=np.array([value])) == "") == fits


@pytest.mark.parametrize(("value", "fits"), [(46340, True), (46341, False)])
def test_numbers_that_become_too_large_for_32_bits_on_the_way(value: int, fits: bool) -> None:
    """The square of 46341 is the first beyond 2^31; the remainder that comes out is small."""
    text = "g (int64[1] x) => (int64[1] y) <int64[1] d = {7}> { s = Mul(x, x) y = Mod(s, d) }"
    assert (refusal(DeclaredLimits(int64_as_int32=True), text, x=np.array([value])) == "") == fits
    assert refusal(DeclaredLimits(), text, x=np.array([value])) == ""


def test_a_constant_beyond_32_bits_is_left_to_the_component() -> None:
    """Slice is told by the largest int64 to go on to the end."""
    text = f"""g (float[2] x) => (float[2] y) <int64[1] zero = {{0}}> {{
        end = Constant <value = int64[1] {{{2**63 - 1}}}> () y = Slice(x, zero, end)
    }}"""
    assert refusal(DeclaredLimits(int64_as_int32=True), text, x=np.zeros(2, np.float32)) == ""
