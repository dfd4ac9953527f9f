"""onnx 1.23.2, function body: ReduceL2's function body takes the root of doubles in single precision

Seen with reference 1.23.2, onnxruntime 1.32.0; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceL2-18: "Computes the L2 norm of the input tensor's elements", of double as well, and its output has the type of its input.
  https://onnx.ai/onnx/operators/onnx__ReduceL2.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.inliner
from onnx.reference import ReferenceEvaluator

inputs = {'x': np.array([1.1])}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 18]>
g (double[1] x) => (double[1] y) {
   y = ReduceL2 (x)
}
""")
body = onnx.inliner.inline_selected_functions(model, [("", "ReduceL2")], exclude=False, inline_schema_functions=True)
assert "ReduceL2" not in [node.op_type for node in body.graph.node]
expected, got = (ReferenceEvaluator(m).run(None, inputs)[0] for m in (model, body))
print("expected", expected.tolist(), "got", got.tolist())
shows = not np.allclose(got, expected, rtol=1e-12)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
