"""onnxscript 0.7.2: the optimizer and the rewriter drop the omitted condition of a Loop that carries nothing

Seen with onnxscript 0.7.2, onnxruntime 1.32.0; needs numpy, onnx, onnxruntime, onnxscript. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Loop-16, cond: "A boolean termination condition. Optional. Pass empty string to skip."
  https://onnx.ai/onnx/operators/onnx__Loop.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
import onnxscript.optimizer
inputs = {'n': np.array(2)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (int64 n) => (int64[k] y) {
   y = Loop (n, "") <body: graph = b (int64 i, bool c) => (bool d, int64 e) {
      d = Identity (c)
      e = Add (i, i)
   }>
}
""")
def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
print("before", run(model))
made = onnxscript.optimizer.optimize(model)
shows, got = False, None
try:
    got = run(made)
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
