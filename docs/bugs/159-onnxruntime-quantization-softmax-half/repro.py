"""onnxruntime 1.32.0, quantization: quantize_static writes a QuantizeLinear of float16 at opsets that know it for float32 only

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: QuantizeLinear-13: "Constrain 'x' to float or int32 tensor."; Softmax-13 takes float16, so that the model before it is valid.
  https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
inputs = {'x': np.array([[0.5, -1, 2]], 'float16')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float16[1,3] x) => (float16[1,3] y)
{
   y = Softmax <axis: int = 1> (x)
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
    quantize_static(path, made, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    try:
        print("after", run(made))
        shows = False
    except Exception as error:
        print("after", str(error).splitlines()[0])
        shows = "'tensor(float16)' of input parameter (x) of operator (QuantizeLinear)" in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
