"""opencv-python-headless 5.0.0.93: Resize ignores antialias

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18, `antialias`: "If set to 1, "linear" and "cubic" interpolation modes will use an antialiasing filter when downscaling."
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.array([[[[1.0, 4.0, 9.0, 16.0], [25.0, 36.0, 49.0, 64.0], [81.0, 100.0, 121.0, 144.0], [169.0, 196.0, 225.0, 256.0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 18]>
g (float[1,1,4,4] x) => (float[1,1,2,2] y)
<float[4] s = {1, 1, 0.5, 0.5}>
{
   y = Resize <mode: string = "linear", antialias: int = 1> (x, "", s)
}
""")
network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, value in inputs.items():
    network.setInput(value, name)
got = network.forward([value.name for value in model.graph.output])
expected = np.array([[[[25.25, 42.75], [132.0, 174.0]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
