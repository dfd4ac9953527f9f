"""onnxruntime 1.32.0, quantization: MatMulNBitsQuantizer makes a MatMulNBits of a product of integers

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MatMul-9, T: "Constrain input and output types to float/int tensors."
  https://onnx.ai/onnx/operators/onnx__MatMul.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
inputs = {'x': np.array([[2]], 'int64')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (int64[1,1] x) => (int64[1,1] y)
<int64[1,1] w = {1}>
{
   y = MatMul (x, w)
}
""")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda model: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
expected = run(model.SerializeToString())
quantizer = MatMulNBitsQuantizer(model, block_size=32)
quantizer.process()
try:
    got = run(quantizer.model.model.SerializeToString())
    shows = False
except Exception as error:
    got = str(error).splitlines()[0]
    shows = "of operator (MatMulNBits)" in got
print("expected", expected.tolist(), "got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
