"""apache-tvm 0.27.0.post1: MaxPool with Indices is refused by an assertion

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12, `Indices`: "Indices tensor from max pooling across the input tensor. The dimensions of indices are the same as output
tensor."
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([[[[1, 2, 3, 4]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,1,4] x) => (float[1,1,1,2] y, int64[1,1,1,2] i)
{
   y, i = MaxPool <kernel_shape: ints = [1, 2], strides: ints = [1, 2]> (x)
}
""")
def run():
    module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
    return (found if len(model.graph.output) == 1 else found[0]).numpy()
try:
    print("got", run().tolist())
    shows = False
except Exception as error:
    print("got", type(error).__name__, str(error)[-200:])
    shows = 'Missing outputs during conversion' in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
