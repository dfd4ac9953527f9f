"""onnxruntime 1.32.0, quantization: quantize_static lets a cubic Resize run on integers, which has no kernel

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-13, mode: "cubic" is "cubic interpolation"; T1 are all tensor types.
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np, onnx, onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
inputs = {'x': np.array([[[[1, 2], [3, 4]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,1,2,2] x) => (float[1,1,4,4] y)
<float[4] s = {1, 1, 2, 2}> {
   v = Sigmoid (x)
   y = Resize <mode: string = "cubic"> (v, "", s)
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
    try:
        print("after", run(made).tolist())
        shows = False
    except Exception as error:
        print("expected", expected.tolist(), "got", str(error).splitlines()[0])
        shows = 'Tensor type mismatch' in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
