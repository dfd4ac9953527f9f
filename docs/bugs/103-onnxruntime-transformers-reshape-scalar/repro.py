"""onnxruntime 1.32.0, transformers.optimizer: the optimizer of transformers removes a Reshape of one element to a scalar

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Reshape-14: "Shape (second input) could be an empty shape, which means converting to a scalar."
  https://onnx.ai/onnx/operators/onnx__Reshape.html
"""
import os, sys, tempfile
from pathlib import Path
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.transformers.optimizer import optimize_model
inputs = {'x': np.array([1.0], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 15]>
g (float[1] x) => (int64[0] y)
   <int64[0] s = {}>
{
   a = Reshape (x, s)
   y = Shape (a)
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
told = lambda a: "{0.dtype.name}{1}".format(np.asarray(a), list(np.shape(a)))
print("expected", told(expected), "got", told(got))
shows = np.shape(got) != np.shape(expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
