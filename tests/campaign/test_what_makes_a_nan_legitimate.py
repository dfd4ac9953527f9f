"""What the analysis of ranges says of a NaN: which call may give it, that none can, or that nothing is known."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.analyze.numeric_range_analysis import Analysis
from irfuzz.campaign.corpus import hazard_input_steering
from irfuzz.campaign.corpus.hazard_input_steering import why_special
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT))
FINITE, WIDE = SimpleNamespace(finite=True), SimpleNamespace(finite=False)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"ranges": {"y": FINITE}}, "not legitimate"),
        ({"ranges": {"y": WIDE}}, ""),
        ({"ranges": {"z": FINITE}}, ""),
        ({"ranges": {"y": FINITE}, "unknown": Counter({"Mystery": 1})}, ""),
        ({"ranges": {"y": FINITE}, "warnings": ["w", "v"]}, "may be legitimate: w"),
        ({"ranges": {"y": FINITE}, "unjudged": ["u"]}, "may be legitimate: u"),
        ({"ranges": {"y": FINITE}, "unjudged": ["u"], "warnings": ["w"]}, "may be legitimate: w"),
    ],
)
def test_what_the_analysis_knows_decides(monkeypatch: pytest.MonkeyPatch, found: dict[str, Any], said: str) -> None:
    monkeypatch.setattr(hazard_input_steering, "_analysis", lambda program, ranges, output: Analysis(**found))
    monkeypatch.setattr(hazard_input_steering, "told", str)
    why = why_special(PROGRAM, {"x": np.ones(2, np.float32)}, "y")
    assert why.startswith(said)
    assert bool(why) == bool(said)


@pytest.mark.parametrize(
    ("ends", "share", "number"),
    [((2.0, 6.0), 0.0, 2.0), ((2.0, 6.0), 1.0, 6.0), ((2.0, 6.0), 0.25, 3.0),
     ((2.0, 6.0), -1.0, 2.0), ((-6.0, -2.0), -1.0, -2.0), ((-2.0, 6.0), -1.0, 0.0)],
)  # fmt: skip
def test_numbers_between_two_ends(ends: tuple[float, float], share: float, number: float) -> None:
    assert hazard_input_steering._at(ends, share) == number


@pytest.mark.parametrize(("certain_at", "number"), [(None, 3.0), (6.0, 6.0), (2.0, 2.0)])
def test_a_corner_that_triggers_a_hazard_for_sure_or_else_the_first(
    monkeypatch: pytest.MonkeyPatch, certain_at: float | None, number: float
) -> None:
    def analysis(program: Program, given: Any, output: str = "") -> Analysis:
        fault = SimpleNamespace(certain=given["x"] == (certain_at, certain_at))
        alarm: Any = SimpleNamespace(inputs=["x", "z"], output="y", fault=fault)
        return Analysis(warnings=[alarm])

    monkeypatch.setattr(hazard_input_steering, "_analysis", analysis)
    monkeypatch.setattr(hazard_input_steering, "told", lambda alarm: "Log")
    choices: Any = SimpleNamespace(pick=lambda row: row[0], sample=lambda row, count: (0.25, 1.0, 0.0))
    found = hazard_input_steering._into(PROGRAM, {}, {"x": (2.0, 6.0)}, choices)
    assert found == ({"x": (number, number)}, "NaN or Inf: Log")
