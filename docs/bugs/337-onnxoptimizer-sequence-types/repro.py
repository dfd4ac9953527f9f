"""onnxoptimizer 0.4.2: sequences and optionals lose their types

Seen with onnxoptimizer 0.4.2, onnxruntime 1.32.0; needs numpy, onnx, onnxoptimizer, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: onnx.proto, ValueInfoProto, of `type`: "This field MUST be present in this version of the IR for inputs and outputs of the
top-level graph."
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxoptimizer
import onnxruntime as ort
inputs = {'x': [np.array([1, 2], 'float32')]}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (seq(float[2]) x) => (int64 y)
{
   y = SequenceLength (x)
}
""")
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
run(model)  # it is valid
made = onnxoptimizer.optimize(model)
try:
    run(made)
    shows = False
except ort.capi.onnxruntime_pybind11_state.Fail as error:
    shows = "does not have type information" in str(error)
    print("expected a model that runs, got", error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
