"""What a Where that replaces numbers near 0 says of its elements, and what it does not."""

from __future__ import annotations

import pytest
from onnx import parser

from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Analysis, analyze
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

NEAR = "s = Abs(x) n = Less(s, c) w = Where(n, d, x)"
FAR = "s = Abs(x) n = Greater(s, c) w = Where(n, x, d)"


def found(body: str, constants: str = "float c = {1e-6}, float d = {1e-6}", kind: str = "float[6]") -> Analysis:
    text = f'<ir_version: 8, opset_import: ["": 17]> g ({kind} x) => ({kind} y) <{constants}> {{ {body} }}'
    return analyze(Program.from_proto(parser.parse_model(text)), Ranges({"x": (-200, 200)}))


@pytest.mark.parametrize("chosen", [NEAR, FAR])
def test_a_divisor_that_is_replaced_near_0_is_safe(chosen: str) -> None:
    analysis = found(f"{chosen} y = Div(x, w)")
    assert not analysis.warnings
    assert 2e8 <= analysis.ranges["y"].high <= 2.1e8


def test_a_sum_that_is_replaced_near_0_and_spread_is_safe_too() -> None:
    body = "t = ReduceSum<keepdims = 1>(x) s = Abs(t) n = LessOrEqual(s, c) w = Where(n, d, t) y = Div(x, w)"
    assert not found(body).warnings


@pytest.mark.parametrize(
    ("body", "constants"),
    [
        (NEAR, "float c = {1e-6}, float d = {0}"),  # by 0 itself
        (NEAR, "float c = {0}, float d = {1}"),  # nothing is replaced
        ("s = Abs(x) n = Less(s, c) w = Where(n, x, d)", "float c = {1e-6}, float d = {1}"),  # the others
        ("n = Less(x, c) w = Where(n, d, x)", "float c = {-1}, float d = {1}"),  # no magnitude
        ("q = Mul(x, x) s = Abs(q) n = Less(s, c) w = Where(n, d, x)", "float c = {-1e-6}, float d = {1e-6}"),
    ],
)
def test_a_divisor_that_may_still_be_0_is_warned_of(body: str, constants: str) -> None:
    (warning,) = found(f"{body} y = Div(x, w)", constants).warnings
    assert (warning.op, warning.fault.kind) == ("Div", "division")


def test_a_magnitude_bounds_both_sides_of_its_number() -> None:
    analysis = found("s = Abs(x) n = Less(s, c) y = Where(n, x, d)", "float c = {5}, float d = {0}")
    assert (analysis.ranges["y"].low, analysis.ranges["y"].high) == (-5, 5)


def test_the_smallest_integer_has_no_magnitude() -> None:
    constants = "int8 c = {5}, int8 d = {0}"
    analysis = found("s = Abs(x) n = Less(s, c) y = Where(n, x, d)", constants, "int8[6]")
    assert analysis.ranges["y"].low == -128
