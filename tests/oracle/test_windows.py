"""A window beyond the padded input: ONNX's text and its shape inference differ, so nobody is at fault."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.execute.run_types import Exit, Stage
from irfuzz.oracle import judge

POOLS = (
    "AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(x)",
    "MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(x)",
    "LpPool<kernel_shape=[2, 2], strides=[2, 2]>(x)",
    "Conv<strides=[2, 2]>(x, w)",
)


@pytest.mark.parametrize("call", POOLS)
@pytest.mark.parametrize(("width", "blurred"), [(1, True), (2, False)])
def test_shape_of_no_window(parse, run, call, width, blurred) -> None:
    program = parse(f"g (float[1,1,4,{width}] x, float[1,1,2,2] w) => (float[n,c,h,v] y) {{ y = {call} }}")
    inputs = {"x": np.ones((1, 1, 4, width), np.float32), "w": np.ones((1, 1, 2, 2), np.float32)}
    one, none = np.ones((1, 1, 2, 1), np.float32), np.ones((1, 1, 2, 0), np.float32)
    refused = run("torch:eager", exit=Exit.REJECTED, stage=Stage.RUN, error="kernel size greater than input")
    verdicts = judge(program, inputs, [run("onnxruntime:disabled", one), run("reference", none), refused])
    assert [v.target for v in verdicts if v.symptom == "wrong-shape"] == ["reference"]
    assert ["window_beyond_input" in v.doubt for v in verdicts] == [blurred] * len(verdicts)
