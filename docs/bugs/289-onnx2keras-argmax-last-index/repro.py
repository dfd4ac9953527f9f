"""onnx2keras 0.0.25: ArgMax ignores select_last_index

Seen with onnx2keras 0.0.25; needs numpy, onnx, onnx2keras, tensorflow. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ArgMax-13: "If select_last_index is True (default False), the index of the last occurrence of the max is selected if the max
appears more than once in the input."
  https://onnx.ai/onnx/operators/onnx__ArgMax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(TF_ENABLE_ONEDNN_OPTS="1", TF_CPP_MIN_LOG_LEVEL="3")  # as its README says for processors
import numpy as np
import onnx
import tensorflow as tf
from onnx2keras.converter import onnx_to_keras
inputs = {'x': np.array([[2, 2]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2] x) => (int64[1] y)
{
   y = ArgMax <axis: int = 1, keepdims: int = 0, select_last_index: int = 1> (x)
}
""")
def run():
    network = onnx_to_keras(model, list(inputs), verbose=False)
    found = network([tf.constant(value) for value in inputs.values()], training=False)
    return np.array(found[0] if isinstance(found, list) else found)
got, expected = run(), np.array([1], 'int64')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
