"""ncnn 1.0.20261020: pnnx dies where the first output is a constant

Seen with ncnn 1.0.20261020; needs numpy, onnx, ncnn, pnnx (its program alone, so without PyTorch). Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Constant-13: "This operator produces a constant tensor.", which an output of the graph may be.
  https://onnx.ai/onnx/operators/onnx__Constant.html
"""
import importlib.util, os, subprocess, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
inputs = {'x': np.array([1, 2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y, float[2] z)
{
   y = Constant <value: tensor = float[2] {1, 2}> ()
   z = Neg (x)
}
""")
program = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, os.path.join(folder, "model.onnx"))
    done = subprocess.run([program, "model.onnx", "fp16=0"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
shows = done.returncode < 0
print("expected a program that ends with 0, got", done.returncode)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
