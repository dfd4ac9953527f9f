"""onnxruntime 1.32.0: Slice backward to INT_MAX goes on to the first element

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Slice-13: "for negative stepping it is clamped to `[-1, dims[axes[i]]-1]`", so an end of INT_MAX is the last element, where this
slice begins: it is empty.
  https://onnx.ai/onnx/operators/onnx__Slice.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort

inputs = {'x': np.array([0, 1, 2, 3], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (float[n] y)
<int64[1] s = {3}, int64[1] e = {2147483647}, int64[1] a = {0}, int64[1] t = {-1}>
{
   y = Slice (x, s, e, a, t)
}
""").SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
got, expected = run(model), inputs["x"][3:2147483647:-1]
print("expected a shape of", expected.shape, "got", got.shape, got)
shows = got.shape != expected.shape
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
