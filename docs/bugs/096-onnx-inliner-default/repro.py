"""onnx 1.23.2, inliner: the inliner leaves out the default values of attributes

Seen with onnx-inliner 1.23.2, reference 1.23.2, onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: FunctionProto, `attribute_proto`: "It is for function attributes with default values"; a call may leave them out (42).
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.inliner
import onnxruntime as ort

inputs = {'x': np.array([-1.0], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
g (float[1] x) => (float[1] y) {
   y = local.Function (x)
}
<opset_import: ["" : 17], domain: "local">
Function <alpha: float = 0.5> (a) => (b) {
   b = Elu <alpha: float = @alpha> (a)
}
""")

def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]

expected, got = run(model), run(onnx.inliner.inline_local_functions(model))
print("expected", expected.tolist(), "got", got.tolist())
shows = not np.allclose(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
