"""apache-tvm 0.27.0.post1: OneHot of float32 values gives float64

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: OneHot-11: "The type of the output tensor is the same as the type of the 'values' input."
  https://onnx.ai/onnx/operators/onnx__OneHot.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([0, 2], 'int64')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (int64[2] x) => (float[2,3] y)
<int64 d = {3}, float[2] v = {0,1}>
{
   y = OneHot (x, d, v)
}
""")
module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
got = [value.numpy() for value in ([found] if len(model.graph.output) == 1 else found)]
expected = np.array([[1, 0, 0], [0, 0, 1]], 'float32')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].dtype != expected.dtype
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
