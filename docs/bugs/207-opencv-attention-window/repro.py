"""opencv-python-headless 5.0.0.93: Attention ignores left_window_size and right_window_size

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Attention-25, `left_window_size`: "Maximum number of positions to the left of the current absolute query position that may be
attended."
  https://onnx.ai/onnx/operators/onnx__Attention.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'q': np.array([[[[0.0], [0.0]]]], 'float32'), 'k': np.array([[[[1.0], [2.0]]]], 'float32'), 'v': np.array([[[[1.0], [2.0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 12, opset_import: ["" : 25]>
g (float[1,1,2,1] q, float[1,1,2,1] k, float[1,1,2,1] v) => (float[1,1,2,1] y)
{
   y = Attention <left_window_size: int = 0> (q, k, v)
}
""")
network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, value in inputs.items():
    network.setInput(value, name)
got = network.forward([value.name for value in model.graph.output])
expected = np.array([[[[1.5], [2.0]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
