"""mnn 3.6.1: RNN, GRU and LSTM ignore layout

Seen with mnn 3.6.1; needs numpy, onnx, mnn. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: RNN-14, layout: "If 1, the following shapes are expected: X.shape = [batch_size, seq_length, input_size]" and "initial_h.shape =
Y_h.shape = [batch_size, num_directions, hidden_size]": two sequences of one element each here, and Y_h is their hyperbolic tangents.
  https://onnx.ai/onnx/operators/onnx__RNN.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import MNN, _tools
from MNN import expr
inputs = {'x': np.array([[[1]], [[2]]], 'float32'), 'w': np.array([[[1]]], 'float32'), 'r': np.array([[[1]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[2,1,1,1] y, float[2,1,1] h)
{
   y, h = RNN <hidden_size: int = 1, layout: int = 1> (x, w, r)
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
got, expected = run(), np.tanh(inputs['x'])
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
