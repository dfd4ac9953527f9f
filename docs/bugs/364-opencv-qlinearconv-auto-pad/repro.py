"""opencv-python-headless 5.0.0.93: QLinearConv with auto_pad pads with the least number

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: QLinearConv-10, auto_pad: "SAME_UPPER or SAME_LOWER mean pad the input", and the padding stands for 0, which the zero point is
here.
  https://onnx.ai/onnx/operators/onnx__QLinearConv.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.zeros((1, 1, 1, 1), 'int8')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 10]>
g (int8[1,1,1,1] x) => (int8[1,1,1,1] y)
<float s = {1}, int8 z = {0}, int8[1,1,2,1] w = {1, 1}>
{
   y = QLinearConv <auto_pad: string = "SAME_LOWER"> (x, s, z, w, s, z, s, z)
}
""")
def run():
    network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, value in inputs.items():
        network.setInput(value, name)
    return network.forward([value.name for value in model.graph.output])[0]
got, expected = run(), np.zeros((1, 1, 1, 1), 'int8')
print("expected", expected.dtype, expected.shape, expected.tolist(), "got", got.dtype, got.shape, got.tolist())
shows = got.dtype != expected.dtype or got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
