"""onnx-graphsurgeon 0.6.1: sorting a model that has a local function and a body recurses endlessly

Seen with onnx-graphsurgeon 0.6.1, onnxruntime 1.32.0; needs onnx, onnx-graphsurgeon, onnxruntime, numpy. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IR.md, of a model's functions: "An optional list of functions local to the model."; any graph of it may call them, bodies
included; onnx's checker takes the model, and ONNX Runtime runs it.
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx_graphsurgeon as gs
import onnxruntime as ort
inputs = {'c': np.array(True), 'x': np.array([1.0], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (bool c, float[1] x) => (float[1] y) {
   y = If (c) <then_branch: graph = t () => (float[1] p) { p = local.Function (x) },
               else_branch: graph = e () => (float[1] q) { q = Neg (x) }>
}
<opset_import: ["" : 17], domain: "local">
Function (a) => (b) {
   b = Neg (a)
}
""")
def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
print("before", run(model))
shows, got = False, None
try:
    got = run(gs.export_onnx(gs.import_onnx(model).cleanup().toposort()))
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
