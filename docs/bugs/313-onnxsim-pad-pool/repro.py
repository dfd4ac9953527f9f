"""onnxsim 0.8.1: a Pad as wide as the kernel is fused into a pool, which then has windows of no elements

Seen with onnxsim 0.8.1, onnxruntime 1.32.0; needs numpy, onnx, onnxsim, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12: "The output of each pooling window is maximum number of elements exclude pad", of which the windows of the simplified
model have none; onnxsim promises that it "will be checked for `check_n` times by random inputs".
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxsim
import onnxruntime as ort

inputs = {'x': np.arange(4, dtype='float32').reshape(1, 1, 2, 2)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,2,2] x) => (float[1,1,4,4] y)
<int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float c = {-inf}>
{
   v = Pad (x, p, c)
   y = MaxPool <kernel_shape: ints = [1, 1]> (v)
}
""").SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
run(model)  # it is valid
made, succeeded = onnxsim.simplify(onnx.load_model_from_string(model))
try:
    run(made.SerializeToString())
    shows = False
except ort.capi.onnxruntime_pybind11_state.Fail as error:
    shows = succeeded and "Pad should be smaller than kernel" in str(error)
    print("expected a model that runs, got", made.graph.node, error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
