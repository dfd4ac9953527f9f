"""apache-tvm 0.27.0.post1: ReduceMean of int32 gives int64

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceMean-13: data and reduced are of one type T, "Computes the mean of the input tensor's elements along the provided axes."
  https://onnx.ai/onnx/operators/onnx__ReduceMean.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([1, 3], 'int32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (int32[2] x) => (int32[1] y)
{
   y = ReduceMean (x)
}
""")
def run():
    module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
    return (found if len(model.graph.output) == 1 else found[0]).numpy()
got, expected = run(), np.array([2], 'int32')
print("expected", expected.dtype, expected.tolist(), "got", got.dtype, got.tolist())
shows = got.dtype != expected.dtype
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
