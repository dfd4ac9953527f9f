"""apache-tvm 0.27.0.post1: LayerNormalization gives 0 for Mean and InvStdDev

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LayerNormalization-17: "The second output is `Mean` and the last one is `InvStdDev`."
  https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([[1, 3]], 'float32'), 's': np.array([1, 1], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2] x, float[2] s) => (float[1,2] y, float[1,1] m)
{
   y, m = LayerNormalization (x, s)
}
""")
module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
got = [value.numpy() for value in ([found] if len(model.graph.output) == 1 else found)]
expected = np.array([[2]], 'float32')
print("expected", expected.tolist(), "got", got[1].dtype, got[1].tolist())
shows = got[1].shape != expected.shape or not np.allclose(got[1], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
