"""opencv-python-headless 5.0.0.93: GridSample of opset 20 with mode cubic interpolates linearly

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: GridSample-20, `mode`: "Three interpolation modes: linear (default), nearest and cubic."
  https://onnx.ai/onnx/operators/onnx__GridSample.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.array([[[[1.0, 4.0, 9.0, 16.0], [25.0, 36.0, 49.0, 64.0], [81.0, 100.0, 121.0, 144.0], [169.0, 196.0, 225.0, 256.0]]]], 'float32'), 'g': np.array([[[[0.20000000298023224, 0.20000000298023224]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 9, opset_import: ["" : 20]>
g (float[1,1,4,4] x, float[1,1,1,2] g) => (float[1,1,1,1] y)
{
   y = GridSample <mode: string = "cubic"> (x, g)
}
""")
network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, value in inputs.items():
    network.setInput(value, name)
got = network.forward([value.name for value in model.graph.output])
expected = np.array([[[[106.20503997802734]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
