"""tinygrad 0.14.0: ScatterND changes its data, which other nodes read afterwards

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ScatterND-16: "The output of the operation is produced by creating a copy of the input `data`, and then updating its value to
values specified by `updates`".
  https://onnx.ai/onnx/operators/onnx__ScatterND.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'x': np.array([1, 2, 3], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 16]>
g (float[3] x) => (float[3] y, float[3] z)
<int64[1,1] i = {1}, float[1] u = {9}>
{
   y = ScatterND (x, i, u)
   z = Neg (x)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    got = [value.numpy() for value in OnnxRunner(path)(inputs).values()]
expected = np.array([-1, -2, -3], 'float32')
print("expected", expected.tolist(), "got", got[1].dtype, got[1].tolist())
shows = got[1].shape != expected.shape or not np.allclose(got[1], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
