"""ncnn 1.0.20261020: pnnx dies of a Resize whose scales are fed

Seen with ncnn 1.0.20261020; needs numpy, onnx, ncnn, pnnx (its program alone, so without PyTorch). Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-13, `scales`: "The scale array along each dimension. It takes value greater than 0." It is an input and not an attribute.
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import importlib.util, os, subprocess, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
inputs = {'x': np.arange(4, dtype='float32').reshape(1, 1, 2, 2), 's': np.array([1, 1, 2, 2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,1,2,2] x, float[4] s) => (float[1,1,4,4] y)
{
   y = Resize <mode: string = "linear"> (x, "", s)
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
