"""tract 0.23.9: ReduceLogSumExp of numbers from 89 on is infinite, and so is that of numbers below -104

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceLogSumExp-18: "Computes the log sum exponent of the input tensor's elements along the provided axes": `100 + log(2)` for 100
and 100, well within single precision.
  https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([100, 100], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 18]>
g (float[2] x) => (float[1] y)
{
   y = ReduceLogSumExp (x)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return runnable.run(list(inputs.values()))[0].to_numpy()
got, expected = run(), np.array([100.6931472], 'float32')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
