"""apache-tvm 0.27.0.post1: LRN over an even number of channels is refused

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LRN-13: "max(0, c - floor((size - 1) / 2)) <= i <= min(C - 1, c + ceil((size - 1) / 2))", of any `size`.
  https://onnx.ai/onnx/operators/onnx__LRN.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([[[[1]], [[2]], [[3]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,3,1,1] x) => (float[1,3,1,1] y)
{
   y = LRN <size: int = 2> (x)
}
""")
try:
    module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
    got = [value.numpy() for value in ([found] if len(model.graph.output) == 1 else found)]
    print("got", [value.tolist() for value in got])
    shows = False
except Exception as error:
    print("got", type(error).__name__, str(error)[-200:])
    shows = 'not broadcastable' in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
