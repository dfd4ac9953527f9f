"""onnxruntime 1.32.0, quantization: quantize_static copies dilations to a QLinearAveragePool, which knows none

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: AveragePool-19, `dilations`: "Dilation value along each spatial axis of filter."
  https://onnx.ai/onnx/operators/onnx__AveragePool.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
inputs = {'x': np.array([[[1, 2, 4, 8]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 9, opset_import: ["" : 19]>
g (float[1,1,4] x) => (float[1,1,2] y)
{
   y = AveragePool <dilations: ints = [2], kernel_shape: ints = [2]> (x)
}
""")
class Reader(CalibrationDataReader):
    rows = [inputs]
    get_next = lambda self: self.rows.pop() if self.rows else None
run = lambda model: ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, inputs)[0].tolist()
print("before", run(model.SerializeToString()))
with tempfile.TemporaryDirectory() as folder:
    path, made = os.path.join(folder, "model.onnx"), os.path.join(folder, "made.onnx")
    onnx.save(model, path)
    quantize_static(path, made, Reader(), quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    try:
        print("after", run(made))
        shows = False
    except Exception as error:
        print("after", str(error).splitlines()[0])
        shows = 'Unrecognized attribute: dilations for operator QLinearAveragePool' in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
