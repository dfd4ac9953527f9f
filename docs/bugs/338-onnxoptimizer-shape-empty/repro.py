"""onnxoptimizer 0.4.2: a Shape whose end is before its start ends the process

Seen with onnxoptimizer 0.4.2; needs numpy, onnx, onnxoptimizer. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Shape-15: "Optional attributes start and end can be used to compute a slice of the input tensor's shape", and "The end axis, if
specified, is exclusive (and the returned value will not include the size of that axis)": no size at all here.
  https://onnx.ai/onnx/operators/onnx__Shape.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxoptimizer
inputs = {'x': np.array([1, 2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (int64[0] y)
{
   y = Shape <start: int = 1, end: int = 0> (x)
}
""")
child = os.fork()
if not child:
    os._exit(onnxoptimizer.optimize(model) is None)
status = os.waitpid(child, 0)[1]
shows = os.WIFSIGNALED(status)
assert shows or not status, "the child has said why"
print("expected an answer, got", "a process that dies" if shows else "one")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
