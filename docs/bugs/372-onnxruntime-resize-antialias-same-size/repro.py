"""onnxruntime 1.32.0: Resize with antialias leaves an axis alone whose size stays, whatever its scale

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18: "x_original = (x_resized + 0.5) / scale - 0.5" along each axis, of row 1 by a scale of 1.2: 0.75.
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([[0, 1], [2, 3]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 18]>
g (float[2,2] x) => (float[2,1] y)
<float[2] s = {1.2, 0.75}>
{
   y = Resize <mode: string = "linear", antialias: int = 1> (x, "", s)
}
""")
def run():
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
got, expected = run(), np.array([[0.22727273], [1.7272727]], 'float32')
print("expected", expected.dtype, expected.shape, expected.tolist(), "got", got.dtype, got.shape, got.tolist())
shows = got.dtype != expected.dtype or got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
