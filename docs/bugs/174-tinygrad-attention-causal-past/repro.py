"""tinygrad 0.14.0: Attention with is_causal ignores how much past there is

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Attention-23, `is_causal`: "query `i` attends key `j` iff `j <= i + past_sequence_length` (the count of cached keys in
`past_key`)".
  https://onnx.ai/onnx/operators/onnx__Attention.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'q': np.array([[[[1]]]], 'float32'), 'k': np.array([[[[1]]]], 'float32'), 'v': np.array([[[[3]]]], 'float32'), 'pk': np.array([[[[1]]]], 'float32'), 'pv': np.array([[[[1]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 23]>
g (float[1,1,1,1] q, float[1,1,1,1] k, float[1,1,1,1] v, float[1,1,1,1] pk, float[1,1,1,1] pv) => (float[1,1,1,1] y, float[1,1,2,1] nk, float[1,1,2,1] nv)
{
   y, nk, nv = Attention <is_causal: int = 1> (q, k, v, , pk, pv)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    got = [value.numpy() for value in OnnxRunner(path)(inputs).values()]
expected = np.array([[[[2]]]], 'float32')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].shape != expected.shape or not np.allclose(got[0], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
