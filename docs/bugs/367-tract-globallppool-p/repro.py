"""tract 0.23.9: GlobalLpPool gives the mean of powers for their root

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: GlobalLpPool-2: "applies lp pool pooling across the values in the same channel. This is equivalent to LpPool with kernel size
equal to the spatial dimension of input tensor", whose result is the root of the sum of powers: here the root of 2.
  https://onnx.ai/onnx/operators/onnx__GlobalLpPool.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([[[1, 1]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,2] x) => (float[1,1,1] y)
{
   y = GlobalLpPool (x)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return runnable.run(list(inputs.values()))[0].to_numpy()
got, expected = run(), np.array([[[2**0.5]]], 'float32')
print("expected", expected.dtype, expected.shape, expected.tolist(), "got", got.dtype, got.shape, got.tolist())
shows = got.dtype != expected.dtype or got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
