"""tract 0.23.9: MatMulInteger with a vector on the left keeps an axis for it

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MatMulInteger-10: "Matrix product that behaves like numpy.matmul", which removes the axis that it prepends to a vector.
  https://onnx.ai/onnx/operators/onnx__MatMulInteger.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([2, 3], 'int8')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 10]>
g (int8[2] x) => (int32[1] y)
<int8[2,1] w = {1, 1}>
{
   y = MatMulInteger (x, w)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return runnable.run(list(inputs.values()))[0].to_numpy()
got, expected = run(), np.array([5], 'int32')
print("expected", expected.dtype, expected.shape, expected.tolist(), "got", got.dtype, got.shape, got.tolist())
shows = got.dtype != expected.dtype or got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
