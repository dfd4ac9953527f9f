"""onnxruntime 1.32.0: strings from around a Loop that its body passes on are empty after the first turn

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Loop-16: "Each scan_output is created by concatenating the value of the specified output value at the end of each iteration of the
loop."
  https://onnx.ai/onnx/operators/onnx__Loop.html
"""
import os, sys

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
