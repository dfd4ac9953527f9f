"""tinygrad 0.14.0: GatherElements without axis raises

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: GatherElements-13, `axis`: "Which axis to gather on. Negative value means counting dimensions from the back. Accepted range is
[-r, r-1] where r = rank(data).", by default 0.
  https://onnx.ai/onnx/operators/onnx__GatherElements.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0", PARALLEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'x': np.array([1, 2], 'float32'), 'i': np.array([1], 'int64')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, int64[1] i) => (float[1] y)
{
   y = GatherElements (x, i)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        return [value.numpy() for value in OnnxRunner(path)(inputs).values()][0]
try:
    print("got", run().tolist())
    shows = False
except Exception as error:
    print("got", type(error).__name__, str(error)[-200:])
    shows = "required positional argument: 'axis'" in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
