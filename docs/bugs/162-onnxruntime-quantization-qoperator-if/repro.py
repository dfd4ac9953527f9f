"""onnxruntime 1.32.0, quantization: quantize_static drops a value that the body of an If reads

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IR.md: "A node input in a nested subgraph MAY refer to names introduced in outer graphs (as node outputs, graph inputs, or graph
initializers)".
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
inputs = {'x': np.array([[1, 2]], 'float32'), 'c': np.array(True)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2] x, bool c) => (float[1,2] y)
   <float[2,2] w = {1, 2, 3, 4}>
{
   a = MatMul (x, w)
   y = If (c) <then_branch: graph = t () => (float[1,2] p) { p = Neg (a) }, else_branch: graph = e () => (float[1,2] q) { q = Abs (a) }>
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
    try:
        quantize_static(path, made, Reader(), quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        print("after", run(made))
        shows = False
    except Exception as error:
        print("after", error)
        shows = "unknown initializers/tensors" in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
