"""onnxruntime 1.32.0, transformers.optimizer: the optimizer of transformers removes two equal Transposes although they do not undo each other

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Transpose-13: "For example, when perm=(1, 0, 2), given an input tensor of shape (1, 2, 3), the output shape will be (2, 1, 3)."
  https://onnx.ai/onnx/operators/onnx__Transpose.html
"""
import os, sys, tempfile
from pathlib import Path
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.transformers.optimizer import optimize_model
inputs = {'x': np.arange(8, dtype='float32').reshape(2, 2, 2)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[2,2,2] x) => (float[2,2,2] y)
{
   a = Transpose <perm = [1, 2, 0]> (x)
   b = Transpose <perm = [1, 2, 0]> (a)
   y = Neg (b)
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
