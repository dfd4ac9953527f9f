"""apache-tvm 0.27.0.post1: IsInf finds infinities of both signs whatever it is asked for

Seen with apache-tvm 0.27.0.post1; needs numpy, onnx, apache-tvm. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IsInf-10, `detect_negative`: "Set this attribute to 0 if negative infinity should be mapped to false."
  https://onnx.ai/onnx/operators/onnx__IsInf.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
inputs = {'x': np.array([np.inf, -np.inf, 2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[3] x) => (bool[3] y)
{
   y = IsInf <detect_negative: int = 0> (x)
}
""")
module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()])
got = [value.numpy() for value in ([found] if len(model.graph.output) == 1 else found)]
expected = np.array([True, False, False], 'bool')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].shape != expected.shape or not np.allclose(got[0], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
