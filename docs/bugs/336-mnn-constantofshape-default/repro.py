"""mnn 3.6.1: ConstantOfShape without a value gives what was in memory

Seen with mnn 3.6.1; needs numpy, onnx, mnn. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ConstantOfShape-9, value: "If not specified, it defaults to a tensor of value 0 and datatype float32"
  https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import MNN, _tools
from MNN import expr
inputs = {'s': np.array([4, 8])}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (int64[2] s) => (float[4,8] y)
{
   y = ConstantOfShape (s)
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
got = np.stack([run() for _ in range(5)])
print("expected zeros, got", got[:, 0, 0].tolist())
shows = bool((got != 0).any())
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
