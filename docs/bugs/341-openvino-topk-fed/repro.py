"""openvino 2026.4.1: TopK whose number is fed puts equal elements in another order

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: TopK-11: "Given two equivalent values, this operator uses the indices along the axis as a tiebreaker. That is, the element with
the lower index will appear first."
  https://onnx.ai/onnx/operators/onnx__TopK.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
inputs = {'x': np.array([0, 0], 'float32'), 'k': np.array([2])}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, int64[1] k) => (float[2] y, int64[2] i)
{
   y, i = TopK (x, k)
}
""")
core = openvino.Core()
made = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
got, expected = made(inputs)[made.outputs[1]], np.array([0, 1])
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
