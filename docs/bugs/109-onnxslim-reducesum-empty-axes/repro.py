"""onnxslim 0.1.98: onnxslim takes a ReduceSum with empty axes for one that does nothing

Seen with onnxslim 0.1.98; needs numpy, onnx, onnxruntime, onnxslim. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceSum-13: "noop_with_empty_axes - INT (default is '0'): Defines behavior if 'axes' is empty. Default behavior with 'false' is
to reduce all axes."
  https://onnx.ai/onnx/operators/onnx__ReduceSum.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
import onnxslim

inputs = {'x': np.array([1.0, 2.0], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[2] x) => (float[1] y)
   <int64[0] n = {}, int64[1] two = {2}>
{
   r = ReduceSum (x, n)
   e = Expand (r, two)
   y = ReduceSum (e)
}
""")

def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]

made = onnxslim.slim(onnx.load_model_from_string(model.SerializeToString()))
expected, got = run(model), run(made)
print("expected", expected.tolist(), "got", got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-3)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
