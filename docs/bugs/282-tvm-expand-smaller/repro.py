"""apache-tvm 0.27.0.post1: Expand whose shape is fed loses the data's own sizes where the shape has 1

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Expand-13: "It is possible that the output.shape is not equal to shape, when some dimensions in shape is equal to 1, or the
shape.ndim < input.shape.ndim."
  https://onnx.ai/onnx/operators/onnx__Expand.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([[1], [2], [3]], 'float32'), 's': np.array([1, 2], 'int64')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[3,1] x, int64[2] s) => (float[3,2] y)
{
   y = Expand (x, s)
}
""")
def run():
    module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
    return (found if len(model.graph.output) == 1 else found[0]).numpy()
got, expected = run(), np.array([[1, 1], [2, 2], [3, 3]], 'float32')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
