"""onnx2torch gives float32[1,2,2,1] instead of float32[2,1,2,1] in Unsqueeze

Seen with onnx2torch 1.5.15, onnxruntime 1.32.0; needs numpy, onnx, onnx2torch, onnxruntime, and beside it tool_onnx2torch.py. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
What is expected is what onnxruntime 1.32.0 answers, by:
  Unsqueeze-13, https://onnx.ai/onnx/operators/onnx__Unsqueeze.html
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

inputs = {'x': np.ones((2, 2), 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[2,2] x) => (float[2,1,2,1] y)
   <int64[2] a = {-1,-3}>
{
   y = Unsqueeze (x, a)
}
""")


def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]

expected, got = run(model), tool_onnx2torch.load(model.SerializeToString())(inputs)["y"]
told = lambda a: "{0.dtype.name}{1}".format(np.asarray(a), list(np.shape(a)))
print("expected", told(expected), "got", told(got))
shows = np.shape(got) != np.shape(expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
