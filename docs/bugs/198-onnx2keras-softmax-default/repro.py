"""onnx2keras 0.0.25: Softmax, LeakyRelu and Elu without attributes raise

Seen with onnx2keras 0.0.25; needs numpy, onnx, onnx2keras, tensorflow. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Softmax-13, `axis`: "Describes the dimension Softmax will be performed on.", with a default of -1.
  https://onnx.ai/onnx/operators/onnx__Softmax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(TF_ENABLE_ONEDNN_OPTS="1", TF_CPP_MIN_LOG_LEVEL="3")  # as its README says for processors
import numpy as np
import onnx
import tensorflow as tf
from onnx2keras.converter import onnx_to_keras
inputs = {'x': np.array([[0, 1]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2] x) => (float[1,2] y)
{
   y = Softmax (x)
}
""")
try:
    found = onnx_to_keras(model, list(inputs), verbose=False)([tf.constant(value) for value in inputs.values()], training=False)
    got = [np.array(value) for value in (found if isinstance(found, list) else [found])]
    print("got", [value.tolist() for value in got])
    shows = False
except Exception as error:
    print("got", type(error).__name__, str(error)[-200:])
    shows = "'axis'" in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
