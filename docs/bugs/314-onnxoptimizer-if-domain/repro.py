"""onnxoptimizer 0.4.2: nodes of an If of a constant condition lose their domain

Seen with onnxoptimizer 0.4.2, onnxruntime 1.32.0; needs numpy, onnx, onnxoptimizer, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: onnx.proto: "Operators are uniquely identified by a three part identifier (domain, op_type, since_version)"; the node here is of a
local function in the domain "local".
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxoptimizer
import onnxruntime as ort

inputs = {'x': np.array([1, 2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[2] x) => (float[2] y)
<bool c = {1}>
{
   y = If (c) <then_branch = t () => (float[2] z) { z = local.twice (x) }, else_branch = e () => (float[2] q) { q = Neg (x) }>
}
<domain: "local", opset_import: ["" : 17]>
twice (x) => (y)
{
   y = Add (x, x)
}
""").SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
run(model)  # it is valid
made = onnxoptimizer.optimize(onnx.load_model_from_string(model))
names = [(node.domain, node.op_type) for node in made.graph.node]
print("expected a node of", ("local", "twice"), "got", *names)
shows = ("", "twice") in names
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
