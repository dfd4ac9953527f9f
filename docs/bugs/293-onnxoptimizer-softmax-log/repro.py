"""onnxoptimizer 0.4.2: a Softmax without axis in front of a Log raises

Seen with onnxoptimizer 0.4.2, onnxruntime 1.32.0; needs numpy, onnx, onnxoptimizer, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Softmax-13: "axis (default is -1)" is an attribute that may be left out.
  https://onnx.ai/onnx/operators/onnx__Softmax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxoptimizer
import onnxruntime as ort

inputs = {'x': np.array([[0, 1, 2], [3, 4, 5]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]>
g (float[2,3] x) => (float[2,3] y)
{
   v = Softmax (x)
   y = Log (v)
}
""").SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
run(model)  # it is valid
try:
    onnxoptimizer.optimize(onnx.load_model_from_string(model))
    shows = False
except RuntimeError as error:
    print("expected a model, got", error)
    shows = "undefined attribute 'axis'" in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
