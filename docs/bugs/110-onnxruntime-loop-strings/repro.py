"""onnxruntime:disabled gives '' instead of 'a' in Loop

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
What is expected is what tensorflow:eager 2.21.0 answers, by:
  Loop-16, https://onnx.ai/onnx/operators/onnx__Loop.html
"""
import os
import sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort

inputs = {'x': np.array(['a', 'b'], object), 'n': np.array(2)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (string[2] x, int64 n) => (string[k, 2] y) {
   y = Loop (n, "") <body: graph = b (int64 i, bool c) => (bool d, string[2] s) {
      d = Identity (c)
      s = Identity (x)
   }>
}
""").SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
got = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0].tolist()
expected = [['a', 'b'], ['a', 'b']]
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
