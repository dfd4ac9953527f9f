"""onnx 1.23.2, function body: Attention's function body takes the scale of doubles in single precision

Seen with reference 1.23.2, onnxruntime 1.32.0; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Attention-24, `scale`: "Default value is `1/sqrt(head_size)`", and Q, K and V may be double, as the output then is.
  https://onnx.ai/onnx/operators/onnx__Attention.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.inliner
from onnx.reference import ReferenceEvaluator

inputs = {'q': np.ones((1, 1, 1, 2)), 'k': np.array([[[[0.0, 0.0], [1.0, 1.0]]]]), 'v': np.array([[[[0.0], [1.0]]]])}
model = onnx.parser.parse_model("""
<ir_version: 12, opset_import: ["" : 24]>
g (double[1,1,1,2] q, double[1,1,2,2] k, double[1,1,2,1] v) => (double[1,1,1,1] y) {
   y = Attention (q, k, v)
}
""")
body = onnx.inliner.inline_selected_functions(model, [("", "Attention")], exclude=False, inline_schema_functions=True)
assert "Attention" not in [node.op_type for node in body.graph.node]
expected, got = (ReferenceEvaluator(m).run(None, inputs)[0] for m in (model, body))
print("expected", expected.tolist(), "got", got.tolist())
shows = not np.allclose(got, expected, rtol=1e-12, atol=0)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
