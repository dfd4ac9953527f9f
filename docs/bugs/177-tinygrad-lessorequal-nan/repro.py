"""tinygrad 0.14.0: LessOrEqual and GreaterOrEqual hold for NaN

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LessOrEqual-16 is a function: `O1 = Less (A, B)`, `O2 = Equal (A, B)`, `C = Or (O1, O2)`. NaN is neither less than a number nor
equal to it.
  https://onnx.ai/onnx/operators/onnx__LessOrEqual.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'x': np.array([np.nan, 1], 'float32'), 'v': np.array([1, 1], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 16]>
g (float[2] x, float[2] v) => (bool[2] y)
{
   y = LessOrEqual (x, v)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    got = [value.numpy() for value in OnnxRunner(path)(inputs).values()]
expected = np.array([False, True], 'bool')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].shape != expected.shape or not np.allclose(got[0], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
