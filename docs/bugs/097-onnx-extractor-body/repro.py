"""onnx 1.23.2, utils: extract_model leaves out initializers that only bodies read

Seen with reference 1.23.2, onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IR.md: "A node input in a nested subgraph MAY refer to names introduced in outer graphs (as node outputs, graph inputs, or graph
initializers)".
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.utils
import onnxruntime as ort
inputs = {'c': np.array(True), 'x': np.array([1.0], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[1] x) => (float[1] y)
   <float[1] w = {3}>
{
   y = If (c) <then_branch: graph = t () => (float[1] p) { p = Add (x, w) },
               else_branch: graph = e () => (float[1] q) { q = Sub (x, w) }>
}
""")
def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
print("before", run(model))
made = onnx.utils.Extractor(model).extract_model(list(inputs), ["y"])
shows, got = False, None
try:
    got = run(made)
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
