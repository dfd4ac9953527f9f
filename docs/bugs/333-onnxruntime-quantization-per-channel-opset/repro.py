"""onnxruntime 1.32.0, quantization: quantize_static with per_channel writes an axis that DequantizeLinear of opset 11 has not

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DequantizeLinear-13, axis: "(Optional) The axis of the dequantizing dimension of the input tensor." DequantizeLinear-10 has no
attributes. quantize_static says of opsets before 10: "Automatically update the model to opset 11."
  https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np, onnx, onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
inputs = {'x': np.array([[[1], [2]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 6, opset_import: ["" : 11]>
g (float[1,2,1] x) => (float[1,2,1] y)
<float[2,2,1] w = {1, 0, 0, 1}>
{
   y = Conv (x, w)
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
        shows = 'Unrecognized attribute: axis for operator DequantizeLinear' in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
