"""opencv-python-headless 5.0.0.93: Swish ignores alpha

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Swish-24: "Swish function takes one input data (Tensor<T>) and produces one output data (Tensor<T>) of the same shape, where
$Swish(x) = x * sigmoid(alpha * x)$."
  https://onnx.ai/onnx/operators/onnx__Swish.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.array([1.0, 2.0], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 11, opset_import: ["" : 24]>
g (float[2] x) => (float[2] y)
{
   y = Swish <alpha: float = 2> (x)
}
""")
network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, value in inputs.items():
    network.setInput(value, name)
got = network.forward([value.name for value in model.graph.output])
expected = np.array([0.8807970285415649, 1.9640275239944458], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
