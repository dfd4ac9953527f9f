"""opencv-python-headless 5.0.0.93: reductions of integers along all axes end the process

Seen with opencv-python-headless 5.0.0.93; needs numpy, onnx, opencv-python-headless. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceMax-13: "Computes the max of the input tensor's elements along the provided axes", and int32 is a type that it takes.
  https://onnx.ai/onnx/operators/onnx__ReduceMax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import cv2
inputs = {'x': np.array([[7]], 'int32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (int32[1,1] x) => (int32[1,1] y)
{
   y = ReduceMax <axes: ints = [0, 1]> (x)
}
""")
def run():
    network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, value in inputs.items():
        network.setInput(value, name)
    return network.forward([value.name for value in model.graph.output])[0]
child = os.fork()
if not child:
    os._exit(run() is None)
status = os.waitpid(child, 0)[1]
shows = os.WIFSIGNALED(status)
assert shows or not status, "the child has said why"
print("expected", np.array([[7]]).tolist(), "got", "signal %d" % os.WTERMSIG(status) if shows else "an answer")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
