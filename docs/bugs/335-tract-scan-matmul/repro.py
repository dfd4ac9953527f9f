"""tract 0.23.9: a Scan whose body multiplies what it scans by a matrix never becomes a model

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Scan-16: "Scan can be used to iterate over one or more scan_input tensors, constructing zero or more scan_output tensors"; here
two products.
  https://onnx.ai/onnx/operators/onnx__Scan.html
"""
import os, signal, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([[[1]], [[2]]], 'float32'), 'w': np.array([[3]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,1,1] x, float[1,1] w) => (float[2,1,1] y)
{
   y = Scan <num_scan_inputs: int = 1, body: graph = b (float[1,1] a) => (float[1,1] z) {
      z = MatMul (a, w)
   }> (x)
}
""")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return runnable.run(list(inputs.values()))[0].to_numpy()
child = os.fork()
if not child:
    signal.alarm(20)
    os._exit(run() is None)
status = os.waitpid(child, 0)[1]
shows = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
assert shows or not status, "the child has said why"
print("expected an answer, got", "none in 20 seconds" if shows else "one")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
