"""onnxruntime 1.32.0, transformers.optimizer: the optimizer of transformers takes 1e-12 for LayerNormalization's default epsilon of 1e-5

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LayerNormalization-17: "epsilon - FLOAT (default is '1e-05'): The epsilon value to use to avoid division by zero."
  https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""
import os, sys, tempfile
from pathlib import Path
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.transformers.optimizer import optimize_model
inputs = {'a': np.array([[[0.0, 0.001]]], 'float32'), 'b': np.array([[[0.0, 0.0]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,2] a, float[1,1,2] b) => (float[1,1,2] y)
   <float[2] s = {1, 1}, float[2] z = {0, 0}>
{
   c = Add (a, b)
   y = LayerNormalization (c, s, z)
}
""")
def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "model.onnx")
    onnx.save(model, path)
    made = optimize_model(str(path), model_type="bart", num_heads=1, hidden_size=1, opt_level=0).model
expected, got = run(model), run(made)
print("expected", expected.tolist(), "got", got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-3)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
