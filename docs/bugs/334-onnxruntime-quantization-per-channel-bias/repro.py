"""onnxruntime 1.32.0, quantization: quantize_static with per_channel raises for a Gemm's bias of one element

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Gemm-13, C: "The shape of C should be unidirectional broadcastable to (M, N)", as one element is.
  https://onnx.ai/onnx/operators/onnx__Gemm.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np, onnx, onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
inputs = {'x': np.array([[1]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1] x) => (float[1,2] y)
<float[1,2] w = {1, 2}, float[1] c = {1}>
{
   y = Gemm (x, w, c)
}
""")
class Reader(CalibrationDataReader):
    rows = [inputs]
    get_next = lambda self: self.rows.pop() if self.rows else None
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda model: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
print("expected", run(model.SerializeToString()).tolist())
with tempfile.TemporaryDirectory() as folder:
    path, made = (os.path.join(folder, name) for name in ("model.onnx", "made.onnx"))
    onnx.save(model, path)
    try:
        quantize_static(path, made, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)
        print("got", run(made).tolist())
        shows = False
    except Exception as error:
        print("got", str(error).splitlines()[0])
        shows = 'is out of bounds for axis 0 with size 1' in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
