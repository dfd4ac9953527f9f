"""onnx2keras 0.0.25: MatMul of two matrices that are no constants multiplies element by element

Seen with onnx2keras 0.0.25; needs numpy, onnx, onnx2keras, tensorflow. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MatMul-13: "Matrix product that behaves like numpy.matmul"
  https://onnx.ai/onnx/operators/onnx__MatMul.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(TF_ENABLE_ONEDNN_OPTS="1", TF_CPP_MIN_LOG_LEVEL="3")  # as its README says for processors
import numpy as np
import onnx
import tensorflow as tf
from onnx2keras.converter import onnx_to_keras
inputs = {'x': np.array([[1, 2], [3, 4]], 'float32'), 'v': np.array([[1, 2], [3, 4]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,2] x, float[2,2] v) => (float[2,2] y)
{
   y = MatMul (x, v)
}
""")
def run():
    network = onnx_to_keras(model, list(inputs), verbose=False)
    found = network([tf.constant(value) for value in inputs.values()], training=False)
    return np.array(found[0] if isinstance(found, list) else found)
got, expected = run(), np.array([[7, 10], [15, 22]], 'float32')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
