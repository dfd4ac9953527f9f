"""onnxoptimizer 0.4.2: of two Reshapes the first is removed although the second copies a size of it

Seen with onnxoptimizer 0.4.2, onnxruntime 1.32.0; needs numpy, onnx, onnxoptimizer, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Reshape-14: "A dimension could also be 0, in which case the actual dimension value is unchanged (i.e. taken from the input
tensor)", which is what the first Reshape gives.
  https://onnx.ai/onnx/operators/onnx__Reshape.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxoptimizer
import onnxruntime as ort

inputs = {'x': np.arange(8, dtype='float32').reshape(2, 4)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 14]>
g (float[2,4] x) => (float[4,2] y)
   <int64[2] w0 =  {4,2}, int64[2] w1 =  {0,-1}>
{
   v = Reshape (x, w0)
   y = Reshape (v, w1)
}
""").SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
expected, got = run(model), run(onnxoptimizer.optimize(onnx.load_model_from_string(model)).SerializeToString())
print("expected a shape of", expected.shape, "got", got.shape)
shows = got.shape != expected.shape
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
