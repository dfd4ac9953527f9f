"""apache-tvm 0.27.0.post1: AveragePool with SAME_UPPER pads as if its kernel were not dilated

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: AveragePool-19, `auto_pad`: "SAME_UPPER or SAME_LOWER mean pad the input so that `output_shape[i] = ceil(input_shape[i] /
strides[i])` for each axis `i`."
  https://onnx.ai/onnx/operators/onnx__AveragePool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([[[1, 2, 3, 4]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 9, opset_import: ["" : 19]>
g (float[1,1,4] x) => (float[1,1,4] y)
{
   y = AveragePool <auto_pad: string = "SAME_UPPER", dilations: ints = [2], kernel_shape: ints = [2]> (x)
}
""")
module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
got = [value.numpy() for value in ([found] if len(model.graph.output) == 1 else found)]
expected = np.array([[[2, 2, 3, 3]]], 'float32')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].shape != expected.shape or not np.allclose(got[0], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
