"""onnx 1.23.2, reference evaluator: Loop without a condition makes no turn

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Loop-16: `input (trip_count, "")` is `for (int i=0; i < trip_count; ++i)`; the condition is "Optional. Pass empty string to skip."
  https://onnx.ai/onnx/operators/onnx__Loop.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

inputs = {'x': np.array(1.0, 'float32')}
model = onnx.parser.parse_model("""<
   ir_version: 8,
   opset_import: ["" : 17]
>
g (float x) => (float y) {
   n = Constant <value: tensor = int64 {2}> ()
   y = Loop (n, "", x) <body: graph = b (int64 i, bool k, float s) => (bool l, float t) {
      l = Identity (k)
      t = Add (s, s)
   }>
}""").SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(run())[()]
expected = 4.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 1e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
