"""tinygrad 0.14.0: MaxPool with storage_order turns its indices around instead of counting them by columns

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12, `storage_order`: "This attribute is used only to convert an n-tuple index value into a single integer value for
producing the second output."
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'x': np.array([[[[1, 2, 3], [4, 5, 6]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,2,3] x) => (float[1,1,2,3] y, int64[1,1,2,3] i)
{
   y, i = MaxPool <kernel_shape: ints = [1,1], storage_order: int = 1> (x)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    got = [value.numpy() for value in OnnxRunner(path)(inputs).values()]
expected = np.array([[[[0, 2, 4], [1, 3, 5]]]], 'int64')
print("expected", expected.tolist(), "got", got[1].dtype, got[1].tolist())
shows = got[1].shape != expected.shape or not np.allclose(got[1], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
