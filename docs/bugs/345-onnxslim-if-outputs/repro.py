"""onnxslim 0.1.98: what an If of a constant condition gives loses its name for other nodes of the branch

Seen with onnxslim 0.1.98, onnxruntime 1.32.0; needs numpy, onnx, onnxslim, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: onnx.proto, GraphProto: "The nodes in the graph, sorted topologically." An input of a node is named by an input, an initializer or
an output of a node before it.
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxslim
import onnxruntime as ort
inputs = {'x': np.array([1, 2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y, float[2] z)
<bool b = {1}>
{
   y, z = If (b) <then_branch: graph = t () => (float[2] p, float[2] q) { p = Neg (x) q = Exp (p) }, else_branch: graph = e () => (float[2] r, float[2] s) { r = Abs (x) s = Exp (r) }>
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
except ort.capi.onnxruntime_pybind11_state.InvalidArgument as error:
    shows = "is not a graph input, initializer, or output of a previous node" in str(error)
    print("expected a model that runs, got", error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
