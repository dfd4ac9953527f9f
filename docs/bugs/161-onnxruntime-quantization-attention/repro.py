"""onnxruntime 1.32.0, quantization: quantize_dynamic takes ONNX's Attention for its own and makes a QAttention of it

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Attention-23: "Computes scaled dot product attention on query, key and value tensors"; Versioning.md: "A given operator is
identified by a three-tuple", of domain, type and version.
  https://onnx.ai/onnx/operators/onnx__Attention.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import quantize_dynamic
inputs = {name: np.ones((1, 1, 2, 4), 'float32') for name in 'qkv'}
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 23]>
g (float[1,1,2,4] q, float[1,1,2,4] k, float[1,1,2,4] v) => (float[1,1,2,4] y)
{
   y = Attention (q, k, v)
}
""")
run = lambda model: ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, inputs)[0].tolist()
print("before", run(model.SerializeToString()))
with tempfile.TemporaryDirectory() as folder:
    path, made = os.path.join(folder, "model.onnx"), os.path.join(folder, "made.onnx")
    onnx.save(model, path)
    quantize_dynamic(path, made)
    try:
        print("after", run(made))
        shows = False
    except Exception as error:
        print("after", str(error).splitlines()[0])
        shows = 'QAttention, "com.microsoft"' in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
