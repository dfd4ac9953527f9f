"""onnxruntime 1.32.0, quantization: quantize_static quantises a bias that two operators share with the scale of the first

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Gemm-13: "Compute Y = alpha * A' * B' + beta * C", so C counts as much for the second Gemm as for the first: 10.5 and 21 and then
20.5 and 41. What quantisation explains is a step or two, of 41/255.
  https://onnx.ai/onnx/operators/onnx__Gemm.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
inputs = {'x': np.array([[0.5, 1]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2] x) => (float[1,2] y)
<float[2,2] w = {1, 0, 0, 1}, float[2] c = {10, 20}>
{
   v = Gemm (x, w, c)
   y = Gemm (v, w, c)
}
""")
class Reader(CalibrationDataReader):
    rows = [inputs]
    get_next = lambda self: self.rows.pop() if self.rows else None
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda model: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
expected = run(model.SerializeToString())
with tempfile.TemporaryDirectory() as folder:
    path, made = (os.path.join(folder, name) for name in ("model.onnx", "made.onnx"))
    onnx.save(model, path)
    quantize_static(path, made, Reader(), quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    got = run(made)
print("expected", expected.tolist(), "within 1, got", got.tolist())
shows = np.abs(got - expected).max() > 1
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
