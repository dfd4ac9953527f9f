"""onnx2keras 0.0.25: ArgMax removes the axis that keepdims keeps by default, and takes the last axis for the default one

Seen with onnx2keras 0.0.25; needs numpy, onnx, onnx2keras, tensorflow. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ArgMax-13, `keepdims`: "Keep the reduced dimension or not, default 1 means keep reduced dimension."
  https://onnx.ai/onnx/operators/onnx__ArgMax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(TF_ENABLE_ONEDNN_OPTS="1", TF_CPP_MIN_LOG_LEVEL="3")  # as its README says for processors
import numpy as np
import onnx
import tensorflow as tf
from onnx2keras.converter import onnx_to_keras
inputs = {'x': np.array([[1, 3, 2]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,3] x) => (int64[1,1] y)
{
   y = ArgMax <axis: int = 1> (x)
}
""")
found = onnx_to_keras(model, list(inputs), verbose=False)([tf.constant(value) for value in inputs.values()], training=False)
got = [np.array(value) for value in (found if isinstance(found, list) else [found])]
expected = np.array([[1]], 'int64')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].shape != expected.shape or not np.allclose(got[0], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
