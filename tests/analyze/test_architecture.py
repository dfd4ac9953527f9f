"""``--architecture``: which initializers training changes, and what it may make of them (DEBAR, section 4.3)."""

from __future__ import annotations

import json

import onnx
import pytest
from onnx import parser

from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Analysis, analyze
from irfuzz.errors import InvalidProgram
from irfuzz.ir.program import Program
from irfuzz.ir.trainable_parameters import KEY

pytestmark = pytest.mark.unit


def model(constants: str, body: str) -> onnx.ModelProto:
    head = '<ir_version: 8, opset_import: ["": 17]> g (float[4,1] x) => (float[4,1] y)'
    return parser.parse_model(f"{head} <{constants}> {{ {body} }}")


def found(made: onnx.ModelProto) -> Analysis:
    return analyze(Program.from_proto(made), Ranges({"x": (0.5, 1)}, architecture=True))


@pytest.mark.parametrize(
    ("constants", "warned"),
    [
        ("float[1] b = {0.0}", True),  # one unit's bias
        ("float[1,1] b = {0.0}", True),
        ("float b = {0.0}", False),  # a number in the program
        ("float[1] b = {0.25}", False),
    ],
)
def test_a_parameter_of_one_element_is_trained_too(constants: str, warned: bool) -> None:
    assert bool(found(model(constants, "s = Add(x, b) y = Log(s)")).warnings) is warned


def test_where_the_model_says_which_are_parameters_no_other_is_one() -> None:
    made = model("float[1] b = {0.0}, float c = {0.0}, float[1] d = {0.0}", "s = Add(x, b) t = Add(s, c) y = Add(t, d)")
    made.metadata_props.add(key=KEY, value=json.dumps(["c"]))
    analysis = found(made)
    assert (analysis.ranges["s"].low, analysis.ranges["s"].high) == (0.5, 1)
    assert analysis.ranges["t"].low == pytest.approx(-31.5)
    assert analysis.ranges["y"].low == pytest.approx(-31.5)


@pytest.mark.parametrize(
    ("start", "low", "high"),
    [
        ("0, 0", -32, 32),
        ("-0.01, 0.02", -1, 1),
        ("-0.01, 5", -1, 5),
        ("-7, 0.5", -7, 1),
        ("0, 0.02", 0, 0.02),  # of one sign, as scales are
        ("0.5, 2", 0.5, 2),
        ("-2, -0.5", -2, -0.5),
    ],
)
def test_training_takes_parameters_further_than_they_start_unless_they_are_of_one_sign(
    start: str, low: float, high: float
) -> None:
    bounds = found(model(f"float[4,1] w = {{{start}, {start}}}", "y = Mul(x, w)")).ranges["w"]
    assert (bounds.low, bounds.high) == pytest.approx((low, high))


@pytest.mark.parametrize("text", ["{", '"b"', "[1]", "null"])
def test_metadata_that_is_no_list_of_names_is_refused(text: str) -> None:
    made = model("float[1] b = {0.0}", "y = Add(x, b)")
    made.metadata_props.add(key=KEY, value=text)
    with pytest.raises(InvalidProgram, match=r"metadata irfuzz\.parameters"):
        found(made)
