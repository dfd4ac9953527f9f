"""Inputs are steered away from what may give NaN, or into it, and verdicts say whether a NaN is legitimate."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from irfuzz.campaign.corpus import hazard_input_steering
from irfuzz.campaign.corpus.hazard_input_steering import InputSteering, marked, why_special
from irfuzz.choices import Choices
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

LOG = """<ir_version: 8, opset_import: ["" : 17]>
g (float[3,4] x, int64[2] i) => (float[2,4] y, float[3,4] z) <float one = {1}> {
  l = Log(x) y = Gather(l, i) z = Add(x, one) }"""

USUAL = hazard_input_steering.NODES


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hazard_input_steering, "SHARE", 1.0)
    monkeypatch.setattr(hazard_input_steering, "NODES", 1e9)


def program() -> Program:
    return Program.from_proto(parser.parse_model(LOG))


@pytest.mark.parametrize("seed", range(4))
def test_a_hunt_for_nan_triggers_the_hazard(seed: int) -> None:
    inputs = make_inputs(program(), seed, ranges={"x": (0.5, 2.0)})
    found, why = InputSteering("nan").steer(program(), inputs, seed, None, Choices.from_seed(seed))
    assert why.startswith("NaN or Inf: Log")
    with np.errstate(all="ignore"):
        assert not np.isfinite(np.log(np.asarray(found["x"]))).all()
    assert np.array_equal(np.asarray(found["i"]), np.asarray(inputs["i"]))


@pytest.mark.parametrize("seed", range(4))
def test_a_hunt_for_numeric_differences_keeps_away_from_it(seed: int) -> None:
    inputs = make_inputs(program(), seed)
    assert np.asarray(inputs["x"]).min() < 0
    found, why = InputSteering("numeric").steer(program(), inputs, seed, {"x": (-5.0, 0.9)}, Choices.from_seed(seed))
    x = np.asarray(found["x"])
    assert why.startswith("numeric differences")
    assert 0 < x.min() < x.max() <= 0.9


def test_steering_is_decided_by_its_choices_and_leaves_alone_what_it_need_not_change() -> None:
    inputs = make_inputs(program(), 0)
    assert InputSteering("none").steer(program(), inputs, 0, None, Choices.from_seed(0)) == (inputs, "")
    safe = make_inputs(program(), 0, ranges={"x": (1.0, 2.0)})
    assert InputSteering("numeric").steer(program(), safe, 0, None, Choices.from_seed(0)) == (safe, "")
    one, other = (InputSteering("both").steer(program(), inputs, 0, None, Choices.from_seed(7)) for _ in range(2))
    assert one[1] == other[1] != ""
    assert np.array_equal(np.asarray(one[0]["x"]), np.asarray(other[0]["x"]))


def test_verdicts_tell_whether_a_nan_is_legitimate() -> None:
    bad, good = (make_inputs(program(), 0, ranges={"x": ends}) for ends in ((-1.0, 1.0), (1.0, 2.0)))
    assert why_special(program(), bad, "y").startswith("may be legitimate: Log")
    assert why_special(program(), good, "y").startswith("not legitimate")
    assert why_special(program(), bad, "z").startswith("not legitimate")
    wild = {**good, "x": np.full((3, 4), np.inf, np.float32)}
    assert why_special(program(), wild, "z") == "input x holds NaN or an infinity"
    nan = Verdict("special", Symptom.NAN_INF, "t", output="y", got="NaN")
    assert marked(nan, program(), bad, "NaN or Inf: Log").evidence.keys() == {"hunt", "analysis"}
    other = Verdict("numeric", Symptom.DIFFERENCE, "t", output="y")
    assert marked(other, program(), bad, "") is other


@pytest.mark.parametrize(("nodes", "steered"), [(3, True), (100, True), (101, False)])
def test_larger_programs_are_steered_less_often(nodes: int, steered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One and a half programs of as many as there are nodes, a fifth at most, and none of more than a hundred."""
    lines = " ".join(f"v{n} = Abs (v{n - 1})" for n in range(1, nodes - 1))
    body = f"v0 = Log (x) {lines} y = Neg (v{nodes - 2})"
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ {body} }}'
    whole = Program.from_proto(parser.parse_model(text))
    assert len(whole.nodes()) == nodes
    asked: list[float] = []
    monkeypatch.setattr(hazard_input_steering, "SHARE", 0.2)
    monkeypatch.setattr(hazard_input_steering, "NODES", USUAL)

    def boolean(self: Choices, share: float) -> bool:
        asked.append(share)
        return False

    monkeypatch.setattr(Choices, "boolean", boolean)
    inputs = {"x": np.ones(2, np.float32)}
    assert InputSteering("nan").steer(whole, inputs, 0, None, Choices.from_seed(0)) == (inputs, "")
    assert asked == ([min(0.2, 1.5 / nodes)] if steered else [])
