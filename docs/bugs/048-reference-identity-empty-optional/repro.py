"""onnx 1.23.2, reference evaluator: Identity of an empty optional raises

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Identity-16: "Constrain input and output types to all tensor, sequence, and optional types."; OptionalHasElement-15: "If it is an
empty optional-type, this op returns false."
  https://onnx.ai/onnx/operators/onnx__Identity.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

inputs = {'x': None}
model = onnx.parser.parse_model("""<
   ir_version: 8,
   opset_import: ["" : 17]
>
g (optional(float[2]) x) => (bool y) {
   i = Identity (x)
   y = OptionalHasElement (i)
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
