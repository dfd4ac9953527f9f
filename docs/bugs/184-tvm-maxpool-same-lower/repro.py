"""apache-tvm 0.27.0.post1: MaxPool with SAME_LOWER gives fewer windows than SAME_UPPER

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12, `auto_pad`: "SAME_UPPER or SAME_LOWER mean pad the input so that `output_shape[i] = ceil(input_shape[i] / strides[i])`
for each axis `i`."
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([[[1, 2, 3, 4, 5]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,5] x) => (float[1,1,3] y)
{
   y = MaxPool <auto_pad: string = "SAME_LOWER", kernel_shape: ints = [2], strides: ints = [2]> (x)
}
""")
module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
got = [value.numpy() for value in ([found] if len(model.graph.output) == 1 else found)]
expected = np.array([[[1, 3, 5]]], 'float32')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].shape != expected.shape or not np.allclose(got[0], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
