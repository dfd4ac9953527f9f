"""onnx2torch gives [[3.0, 4.0]] instead of [[2.0, 4.0]] in ReduceMax

Seen with onnx2torch 1.5.15, onnxruntime 1.32.0; needs numpy, onnx, onnx2torch, onnxruntime, and beside it tool_onnx2torch.py. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
What is expected is what onnxruntime 1.32.0 answers, by:
  ReduceMax-13, https://onnx.ai/onnx/operators/onnx__ReduceMax.html
"""
import os
import sys
from pathlib import Path

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tool_onnx2torch

inputs = {'x': np.array([1, 2, 3, 4], 'float32').reshape(1, 2, 1, 2)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,2,1,2] x) => (float[1,2] y) {
   y = ReduceMax <axes: ints = [-1, -2], keepdims: int = 0> (x)
}
""")


def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]

expected, got = run(model), tool_onnx2torch.load(model.SerializeToString())(inputs)["y"]
print("expected", expected.tolist(), "got", got.tolist())
shows = not np.array_equal(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
