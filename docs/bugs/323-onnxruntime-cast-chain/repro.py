"""onnxruntime 1.32.0: of two Casts the first is removed although it changes what the second gives

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Cast-13, from one fixed point type to another: "when OOR, discard higher bits and reinterpret (with respect to two's complement
representation for signed types). For example, 200 (int16) -> -56 (int8)". 8589934597 is 2 to the power of 33 and 5: an int64 holds it, and
5 is left in 32 bits.
  https://onnx.ai/onnx/operators/onnx__Cast.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([8589934597, -8589934597], 'float64')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (double[2] x) => (int32[2] y)
{
   v = Cast <to: int = 7> (x)
   y = Cast <to: int = 6> (v)
}
""").SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
got = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
expected = inputs["x"].astype("int64").astype("int32")
print("expected", expected, "got", got)
shows = not np.array_equal(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
