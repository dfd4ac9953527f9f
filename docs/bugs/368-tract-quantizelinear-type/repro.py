"""tract 0.23.9: QuantizeLinear ignores output_dtype

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: QuantizeLinear-21, output_dtype: "The output data type. If not supplied, the output data type is inferred from `y_zero_point` data
type (`T2`)."
  https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([1000], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 21]>
g (float[1] x) => (uint16[1] y)
<float s = {1}>
{
   y = QuantizeLinear <output_dtype: int = 4> (x, s)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return runnable.run(list(inputs.values()))[0].to_numpy()
got, expected = run(), np.array([1000], 'uint16')
print("expected", expected.dtype, expected.shape, expected.tolist(), "got", got.dtype, got.shape, got.tolist())
shows = got.dtype != expected.dtype or got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
