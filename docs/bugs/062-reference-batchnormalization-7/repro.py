"""onnx 1.23.2, reference evaluator: BatchNormalization of opsets 7 and 8 raises

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: BatchNormalization-7 has no attribute `is_test` any more: "Output case #2: Y (test mode)".
  https://onnx.ai/onnx/operators/onnx__BatchNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

inputs = {'x': np.array([[1.0], [3.0]], 'float32'), 's': np.array([1.0], 'float32'), 'b': np.array([0.0], 'float32'), 'm': np.array([0.0], 'float32'), 'v': np.array([1.0], 'float32')}
model = onnx.parser.parse_model("""<
   ir_version: 8,
   opset_import: ["" : 7]
>
g (float[2,1] x, float[1] s, float[1] b, float[1] m, float[1] v) => (float[2,1] y) {
   y = BatchNormalization (x, s, b, m, v)
}""").SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
