"""tract 0.23.9: Pad with a negative pad ends the process

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Pad-13, `pads`: "Tensor of integers indicating the number of padding elements to add or remove (if negative) at the beginning and
end of each axis."
  https://onnx.ai/onnx/operators/onnx__Pad.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([1, 2, 3], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[3] x) => (float[2] y)
<int64[2] p = {-1, 0}>
{
   y = Pad (x, p)
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
    os._exit(run() is None)
status = os.waitpid(child, 0)[1]
shows = os.WIFSIGNALED(status)
assert shows or not status, "the child has said why"
print("expected an answer, got", "a process that dies" if shows else "one")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
