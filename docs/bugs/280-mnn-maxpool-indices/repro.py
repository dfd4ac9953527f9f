"""mnn 3.6.1: MaxPool gives the index of each channel's first window alone, and counts within the channel

Seen with mnn 3.6.1; needs numpy, onnx, mnn. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12, `Indices`: "The indices are computed as flatten 1-D tensor, and the indices do not consider padding. So the values in
indices are in [0, N x C x D1 x ... x Dn)."
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import MNN, _tools
from MNN import expr
inputs = {'x': np.array([[[[1, 2, 3, 4]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,1,4] x) => (float[1,1,1,2] y, int64[1,1,1,2] i)
{
   y, i = MaxPool <kernel_shape: ints = [1, 2], strides: ints = [1, 2]> (x)
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
    return np.array(network.forward(values)[1].read())
got, expected = run(), np.array([[[[1, 3]]]], 'int64')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
