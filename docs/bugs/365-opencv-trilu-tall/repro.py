"""opencv-python-headless 5.0.0.93: Trilu of matrices with more rows than columns leaves ones below the diagonal

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Trilu-14: "All other elements in the matrix are set to zero."
  https://onnx.ai/onnx/operators/onnx__Trilu.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.ones((3, 2), 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 14]>
g (float[3,2] x) => (float[3,2] y)
{
   y = Trilu (x)
}
""")
def run():
    network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, value in inputs.items():
        network.setInput(value, name)
    return network.forward([value.name for value in model.graph.output])[0]
got, expected = run(), np.array([[1, 1], [0, 1], [0, 0]], 'float32')
print("expected", expected.dtype, expected.shape, expected.tolist(), "got", got.dtype, got.shape, got.tolist())
shows = got.dtype != expected.dtype or got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
