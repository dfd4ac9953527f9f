"""Open sizes are those of the run: what they exclude excuses nobody."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.oracle import judge


@pytest.mark.parametrize(("width", "suspect"), [(3, False), (1, True)])
def test_a_convolution_of_open_size_excuses_only_where_its_window_does_not_fit(parse, run, width, suspect) -> None:
    program = parse("g (float[1,1,h,v] x, float[1,1,2,2] w) => (float[n,c,p,q] y) { s = Conv(x, w) y = Relu(s) }")
    inputs = {"x": np.ones((1, 1, width, width), np.float32), "w": np.ones((1, 1, 2, 2), np.float32)}
    right, wrong = np.full((1, 1, 2, 2), 4, np.float32), np.full((1, 1, 2, 2), 5, np.float32)
    (verdict,) = judge(
        program, inputs, [run("onnxruntime:disabled", right), run("reference", right), run("torch:eager", wrong)]
    )
    assert (verdict.target, verdict.suspect) == ("torch:eager", suspect)
