"""tinygrad 0.14.0: Attention of grouped queries takes the heads of keys and values in turn

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Attention-23: "Group-query Attention (GQA): Described in the paper https://arxiv.org/pdf/2305.13245", by which queries are divided
into groups that share a head each.
  https://onnx.ai/onnx/operators/onnx__Attention.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0", PARALLEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'q': np.array([[[[1]], [[1]], [[1]], [[1]]]], 'float32'), 'k': np.array([[[[1]], [[1]]]], 'float32'), 'v': np.array([[[[1]], [[2]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 23]>
g (float[1,4,1,1] q, float[1,2,1,1] k, float[1,2,1,1] v) => (float[1,4,1,1] y)
{
   y = Attention (q, k, v)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        return [value.numpy() for value in OnnxRunner(path)(inputs).values()][0]
got, expected = run(), np.array([[[[1]], [[1]], [[2]], [[2]]]], 'float32')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
