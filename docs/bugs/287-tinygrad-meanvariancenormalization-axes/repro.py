"""tinygrad 0.14.0: MeanVarianceNormalization with axes raises

Seen with tinygrad 0.14.0; needs numpy, onnx, tinygrad and clang. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MeanVarianceNormalization-13, `axes`: "A list of integers, along which to reduce. The default is to calculate along axes [0,2,3]
for calculating mean and variance along each channel."
  https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ.update(DEV="CPU", CACHELEVEL="0", PARALLEL="0")
import numpy as np
import onnx
from tinygrad.nn.onnx import OnnxRunner
inputs = {'x': np.array([[1, 2], [3, 5]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,2] x) => (float[2,2] y)
{
   y = MeanVarianceNormalization <axes: ints = [1]> (x)
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
    shows = "unexpected keyword argument 'axes'" in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
