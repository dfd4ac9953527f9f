"""mnn 3.6.1: Softplus is never above 87

Seen with mnn 3.6.1; needs numpy, onnx, mnn. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Softplus-1: "y = ln(exp(x) + 1)", which of 372 is 372.
  https://onnx.ai/onnx/operators/onnx__Softplus.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import MNN, _tools
from MNN import expr
inputs = {'x': np.array([372], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1] x) => (float[1] y)
{
   y = Softplus (x)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        source, made = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.mnn")
        onnx.save(model, source)
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", source, "--MNNModel", made, "--bizCode", "x"])
        network = MNN.nn.load_module_from_file(made, [*inputs], [value.name for value in model.graph.output])
    values = [expr.const(value.astype(kind), [*value.shape], expr.NCHW, code) for value in inputs.values() for kind, code in
        [("float32", expr.float) if value.dtype.kind == "f" else ("int32", expr.int)]]
    return np.array(network.forward(values)[0].read())
got, expected = run(), np.array([372], 'float32')
print("expected", expected.dtype, expected.shape, expected.tolist(), "got", got.dtype, got.shape, got.tolist())
shows = got.dtype != expected.dtype or got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
