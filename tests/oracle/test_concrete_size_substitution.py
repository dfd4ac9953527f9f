"""Open sizes are those of the run: what they exclude excuses nobody."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.oracle import Symptom, judge


@pytest.mark.parametrize(("width", "suspect"), [(3, False), (1, True)])
def test_a_convolution_of_open_size_excuses_only_where_its_window_does_not_fit(parse, run, width, suspect) -> None:
    program = parse("g (float[1,1,h,v] x, float[1,1,2,2] w) => (float[n,c,p,q] y) { s = Conv(x, w) y = Relu(s) }")
    inputs = {"x": np.ones((1, 1, width, width), np.float32), "w": np.ones((1, 1, 2, 2), np.float32)}
    right, wrong = np.full((1, 1, 2, 2), 4, np.float32), np.full((1, 1, 2, 2), 5, np.float32)
    (verdict,) = judge(
        program, inputs, [run("onnxruntime:disabled", right), run("reference", right), run("torch:eager", wrong)]
    )
    assert (verdict.target, verdict.suspect) == ("torch:eager", suspect)


def test_what_is_fed_may_break_a_rule_that_inference_knows(parse) -> None:
    program = parse("g (int64 n) => (float[m] y) { y = HannWindow(n) }")
    results = [
        RunResult(Target(name=name, component=name), Stage.RUN, Exit.OK, {"y": np.zeros(size, np.float32)})
        for name, size in (("one", 0), ("two", 0), ("three", 1))
    ]
    verdicts = judge(program, {"n": np.array(0)}, results)
    assert [(v.target, v.symptom) for v in verdicts] == [("three", Symptom.WRONG_SHAPE)]
