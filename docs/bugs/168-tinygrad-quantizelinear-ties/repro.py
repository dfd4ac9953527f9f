"""tinygrad 0.14.0: QuantizeLinear to uint8 does not round ties to even

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: QuantizeLinear-13: "For (x / y_scale), it's rounding to the nearest even."
  https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'x': np.array([0.5, 1.5, 2.5, 3.5], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (uint8[4] y)
<float s = {1}, uint8 z = {0}>
{
   y = QuantizeLinear (x, s, z)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    got = [value.numpy() for value in OnnxRunner(path)(inputs).values()]
expected = np.array([0, 2, 2, 4], 'uint8')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].shape != expected.shape or not np.allclose(got[0], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
