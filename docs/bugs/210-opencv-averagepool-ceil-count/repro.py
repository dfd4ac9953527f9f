"""opencv-python-headless 5.0.0.93: AveragePool with ceil_mode and count_include_pad counts what is neither data nor padding

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: AveragePool-19: "The output of each pooling window is divided by the number of elements (exclude pad when attribute
count_include_pad is zero)". There are no pads here, and the last windows hold what is left of the data.
  https://onnx.ai/onnx/operators/onnx__AveragePool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.array([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 9, opset_import: ["" : 19]>
g (float[1,1,4,4] x) => (float[1,1,2,2] y)
{
   y = AveragePool <kernel_shape: ints = [3, 3], strides: ints = [2, 2], count_include_pad: int = 1, ceil_mode: int = 1> (x)
}
""")
network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, value in inputs.items():
    network.setInput(value, name)
got = network.forward([value.name for value in model.graph.output])
expected = np.array([[[[6.0, 7.5], [12.0, 13.5]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
