"""openvino 2026.4.1: QLinearConv takes the scales of output channels for those of input channels

Seen with openvino 2026.4.1, onnxruntime 1.32.0; needs numpy, onnx, onnxruntime, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: QLinearConv-10, w_scale: "per output channel quantization. If it's a 1-D tensor, its number of elements should be equal to the
number of output channels (M)".
  https://onnx.ai/onnx/operators/onnx__QLinearConv.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
import openvino

inputs = {'x': np.array([3, 0], 'uint8').reshape(1, 2, 1, 1)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (uint8[1,2,1,1] x) => (uint8[1,2,1,1] y)
   <float s = {1}, uint8 z = {0}, int8[2,2,1,1] w = {1,0,1,0}, int8[2] u = {0,0}, float[2] t = {1,10}>
{
   y = QLinearConv (x, s, z, w, t, u, s, z)
}
""")

def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]

core = openvino.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
expected, got = run(model), next(iter(compiled(inputs).values()))
print("expected", expected.tolist(), "got", got.tolist())
shows = not np.array_equal(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
