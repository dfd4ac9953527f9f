"""onnxruntime 1.32.0, quantization: quantize_static divides a Gemm's bias by beta

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Gemm-13: "Compute Y = alpha * A' * B' + beta * C"; 0 and 0.4 times 1 are 0.4. What quantisation explains is a step or two, of
1.4/255.
  https://onnx.ai/onnx/operators/onnx__Gemm.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
inputs = {'x': np.array([[0], [1]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,1] x) => (float[2,1] y)
<float[1,1] w = {1}, float[1] c = {1}>
{
   y = Gemm <beta: float = 0.4> (x, w, c)
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
    quantize_static(path, made, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    got = run(made)
print("expected", expected.tolist(), "within 0.05, got", got.tolist())
shows = np.abs(got - expected).max() > 0.05
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
