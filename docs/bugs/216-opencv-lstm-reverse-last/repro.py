"""opencv-python-headless 5.0.0.93: a reverse LSTM gives its first states for Y_h and Y_c

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LSTM-14, `Y_h`: "The last output value of the hidden." Of a reverse LSTM that is the value that it computes last, at the first
element of the sequence, which is also `Y[0]`.
  https://onnx.ai/onnx/operators/onnx__LSTM.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.array([[[1.0]], [[2.0]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 14]>
g (float[2,1,1] x) => (float[1,1,1] y)
<float[1,4,1] w = {1, 1, 1, 1}, float[1,4,1] r = {1, 1, 1, 1}>
{
   s, y = LSTM <hidden_size: int = 1, direction: string = "reverse"> (x, w, r)
}
""")
network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, value in inputs.items():
    network.setInput(value, name)
got = network.forward([value.name for value in model.graph.output])
expected = np.array([[[0.7505146265029907]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
