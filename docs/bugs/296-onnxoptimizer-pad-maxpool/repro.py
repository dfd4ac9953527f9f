"""onnxoptimizer 0.4.2: a Pad with zeros is fused into a MaxPool

Seen with onnxoptimizer 0.4.2, onnxruntime 1.32.0; needs numpy, onnx, onnxoptimizer, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-22: "output of each pooling window is maximum number of elements exclude pad", whereas the zeros that Pad adds
(constant_value "defaults to 0") are elements of its input.
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxoptimizer
import onnxruntime as ort

inputs = {'x': np.array([[[[-4]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
g (float[1,1,1,1] x) => (float[1,1,2,2] y)
   <int64[8] p =  {0,0,1,1,0,0,1,1}>
{
   v = Pad (x, p)
   y = MaxPool <kernel_shape: ints = [2, 2]> (v)
}
""").SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
expected, got = run(model), run(onnxoptimizer.optimize(onnx.load_model_from_string(model)).SerializeToString())
print("expected ", expected.ravel(), "got", got.ravel())
shows = not np.array_equal(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
