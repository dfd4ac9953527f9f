"""opencv-python-headless 5.0.0.93: ConvTranspose with auto_pad SAME takes an axis to another size than its stride says

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ConvTranspose-11, `auto_pad`: "SAME_UPPER or SAME_LOWER mean pad the input so that `output_shape[i] = input_shape[i] * strides[i]`
for each axis `i`."
  https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.array([[[[1.0, 2.0], [3.0, 4.0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,2,2] x) => (float[1,1,4,4] y)
<float[1,1,3,3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}>
{
   y = ConvTranspose <strides: ints = [2, 2], auto_pad: string = "SAME_UPPER"> (x, w)
}
""")
network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, value in inputs.items():
    network.setInput(value, name)
got = network.forward([value.name for value in model.graph.output])
expected = np.array([[[[1.0, 1.0, 3.0, 2.0], [1.0, 1.0, 3.0, 2.0], [4.0, 4.0, 10.0, 6.0], [3.0, 3.0, 7.0, 4.0]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
