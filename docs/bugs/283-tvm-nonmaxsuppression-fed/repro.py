"""apache-tvm 0.27.0.post1: NonMaxSuppression selects nothing where its maximum is fed

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: NonMaxSuppression-11, `max_output_boxes_per_class`: "Integer representing the maximum number of boxes to be selected per batch per
class."
  https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'b': np.array([[[0, 0, 1, 1]]], 'float32'), 's': np.array([[[0.9]]], 'float32'), 'm': np.array([3], 'int64')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 11]>
g (float[1,1,4] b, float[1,1,1] s, int64[1] m) => (int64[n,3] y)
{
   y = NonMaxSuppression (b, s, m)
}
""")
def run():
    module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
    return (found if len(model.graph.output) == 1 else found[0]).numpy()
got, expected = run(), np.array([[0, 0, 0]], 'int64')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
