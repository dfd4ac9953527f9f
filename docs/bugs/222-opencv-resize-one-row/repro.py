"""opencv-python-headless 5.0.0.93: linear Resize of one row reads memory beside it

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18: "In general, it calculates every value in the output tensor as a weighted average of neighborhood (a.k.a. sampling
locations) in the input tensor."
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.array([[[[1.0, 4.0, 9.0, 16.0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 18]>
g (float[1,1,1,4] x) => (float[1,1,1,2] y)
<float[4] s = {1, 1, 1, 0.5}>
{
   y = Resize <mode: string = "linear"> (x, "", s)
}
""")
got = []
for _ in range(50):  # what lies in memory beside the row is not the same each time
    network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, value in inputs.items():
        network.setInput(value, name)
    got.append(network.forward([value.name for value in model.graph.output])[0])
expected = np.array([[[[2.5, 12.5]]]], 'float32')
wrong = [value for value in got if value.shape != expected.shape or not np.allclose(value, expected, rtol=2e-5, atol=1e-6)]
print("expected", expected.dtype, expected.tolist(), "got", (wrong or got)[0].tolist(), "wrong:", len(wrong), "of", len(got))
shows = bool(wrong)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
