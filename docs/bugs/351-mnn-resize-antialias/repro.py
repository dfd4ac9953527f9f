"""mnn 3.6.1: Resize ignores antialias

Seen with mnn 3.6.1; needs numpy, onnx, mnn. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18, antialias: "If set to 1, "linear" and "cubic" interpolation modes will use an antialiasing filter when downscaling."
"Antialiasing is achieved by stretching the resampling filter by a factor max(1, 1 / scale), which means that when downsampling, more input
pixels contribute to an output pixel." So all four pixels count, and the first one, for those outside the image as well, 0.28125 times.
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import MNN, _tools
from MNN import expr
inputs = {'x': np.array([[[[8, 0, 0, 0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 18]>
g (float[1,1,1,4] x) => (float[1,1,1,1] y)
<float[4] s = {1, 1, 1, 0.25}>
{
   y = Resize <mode: string = "linear", antialias: int = 1> (x, "", s)
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
got, expected = run(), np.array([[[[2.25]]]], 'float32')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
