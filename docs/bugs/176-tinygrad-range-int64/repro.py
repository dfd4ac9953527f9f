"""tinygrad 0.14.0: Range of int64 gives int32

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Range-11: inputs and output are of one type, "Constrain input types to common numeric type tensors."
  https://onnx.ai/onnx/operators/onnx__Range.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'n': np.array(3, 'int64')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (int64 n) => (int64[k] y)
<int64 a = {0}, int64 d = {1}>
{
   y = Range (a, n, d)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    got = [value.numpy() for value in OnnxRunner(path)(inputs).values()]
expected = np.array([0, 1, 2], 'int64')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].dtype != expected.dtype
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
