"""onnx2keras 0.0.25: AveragePool and MaxPool ignore dilations

Seen with onnx2keras 0.0.25; needs numpy, onnx, onnx2keras, tensorflow. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: AveragePool-19, dilations: "Dilation value along each spatial axis of filter."
  https://onnx.ai/onnx/operators/onnx__AveragePool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(TF_ENABLE_ONEDNN_OPTS="1", TF_CPP_MIN_LOG_LEVEL="3")  # as its README says for processors
import numpy as np
import onnx
import tensorflow as tf
from onnx2keras.converter import onnx_to_keras
inputs = {'x': np.array([[[[1, 2, 3, 4]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 9, opset_import: ["" : 19]>
g (float[1,1,1,4] x) => (float[1,1,1,2] y)
{
   y = AveragePool <kernel_shape: ints = [1, 2], strides: ints = [1, 1], dilations: ints = [1, 2]> (x)
}
""")
def run():
    network = onnx_to_keras(model, list(inputs), verbose=False)
    found = network([tf.constant(value) for value in inputs.values()], training=False)
    return np.array(found[0] if isinstance(found, list) else found)
got, expected = run(), np.array([[[[2, 3]]]], 'float32')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
