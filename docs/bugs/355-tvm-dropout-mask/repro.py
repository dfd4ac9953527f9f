"""apache-tvm 0.27.0.post1: Dropout gives floats for its mask

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Dropout-13, T2: "Constrain output 'mask' types to boolean tensors."
  https://onnx.ai/onnx/operators/onnx__Dropout.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([1, 2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[2] x) => (float[2] y, bool[2] m)
{
   y, m = Dropout (x)
}
""")
module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
got, expected = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])[1].numpy(), np.array([True, True])
print("expected", expected.dtype, expected.tolist(), "got", got.dtype, got.tolist())
shows = got.dtype != expected.dtype
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
