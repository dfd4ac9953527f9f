"""tract 0.23.9: ReduceSum of int64 adds in 32 bits

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceSum-13: "Computes the sum of the input tensor's elements along the provided axes", of one element that element; int64 is a
type that it takes.
  https://onnx.ai/onnx/operators/onnx__ReduceSum.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([[2**40 + 5]])}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (int64[1,1] x) => (int64[1,1] y)
{
   y = ReduceSum (x)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return runnable.run(list(inputs.values()))[0].to_numpy()
got, expected = run(), np.array([[2**40 + 5]])
print("expected", expected.dtype, expected.shape, expected.tolist(), "got", got.dtype, got.shape, got.tolist())
shows = got.dtype != expected.dtype or got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
