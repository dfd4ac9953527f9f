"""opencv-python-headless 5.0.0.93: a Reshape that copies a size takes it from what an earlier Reshape read

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Reshape-14: "A dimension could also be 0, in which case the actual dimension value is unchanged (i.e. taken from the input
tensor)", which is what the first Reshape gives.
  https://onnx.ai/onnx/operators/onnx__Reshape.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.arange(8, dtype='float32').reshape(2, 4)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 14]>
g (float[2,4] x) => (float[4,2] y)
<int64[2] s = {4, 2}, int64[2] t = {0, -1}>
{
   v = Reshape (x, s)
   y = Reshape (v, t)
}
""")
network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, value in inputs.items():
    network.setInput(value, name)
got, expected = network.forward([value.name for value in model.graph.output])[0], np.arange(8, dtype='float32').reshape(4, 2)
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
