"""onnxslim 0.1.98: an Identity from an input to an output that is a sequence gets the type of a tensor

Seen with onnxslim 0.1.98, onnxruntime 1.32.0; needs numpy, onnx, onnxslim, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Identity-16, V: "Constrain input and output types to all tensor, sequence, and optional types."
  https://onnx.ai/onnx/operators/onnx__Identity.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxslim
import onnxruntime as ort
inputs = {'x': [np.array([1, 2], 'float32')]}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (seq(float[2]) x) => (seq(float[2]) y)
{
   y = Identity (x)
}
""")
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
run(model)  # it is valid
made = onnxslim.slim(onnx.load_model_from_string(model.SerializeToString()))
try:
    run(made)
    shows = False
except ort.capi.onnxruntime_pybind11_state.Fail as error:
    shows = "does not match expected type (seq(tensor(float)))" in str(error)
    print("expected a model that runs, got", error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
