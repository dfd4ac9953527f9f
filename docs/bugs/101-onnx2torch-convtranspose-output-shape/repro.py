"""onnx2torch gives float32[1,1,2] instead of float32[1,1,1] in ConvTranspose

Seen with onnx2torch 1.5.15, onnxruntime 1.32.0; needs numpy, onnx, onnx2torch, onnxruntime, and beside it tool_onnx2torch.py. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
What is expected is what onnxruntime 1.32.0 answers, by:
  ConvTranspose-11, https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
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

inputs = {'x': np.ones((1, 1, 1), 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 11]>
g (float[1,1,1] x) => (float[1,1,1] y)
   <float[1,1,2] w = {1,2}>
{
   y = ConvTranspose <output_shape: ints = [1]> (x, w)
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
