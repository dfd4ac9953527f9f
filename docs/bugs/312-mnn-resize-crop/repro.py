"""mnn 3.6.1: Resize knows no tf_crop_and_resize

Seen with mnn 3.6.1; needs numpy, onnx, mnn. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-13, coordinate_transformation_mode, of "tf_crop_and_resize": "start_x * (length_original - 1) + x_resized * (end_x -
start_x) * (length_original - 1) / (length_resized - 1)", here 0.75 and 2.25.
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import MNN, _tools
from MNN import expr
inputs = {'x': np.arange(1, 17, dtype='float32').reshape(1, 1, 4, 4)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,1,4,4] x) => (float[1,1,2,2] y)
<float[8] r = {0, 0, 0.25, 0.25, 1, 1, 0.75, 0.75}, float[4] s = {1, 1, 0.5, 0.5}>
{
   y = Resize <mode: string = "linear", coordinate_transformation_mode: string = "tf_crop_and_resize"> (x, r, s)
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
got, expected = run(), np.array([[[[4.75, 6.25], [10.75, 12.25]]]], 'float32')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
