"""openvino 2026.4.1: ReduceMax and ReduceMin of infinities, and of no elements, give the largest finite numbers

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceMax-20: "Computes the max of the input tensor's elements along the provided axes", which is minus infinity where that is the
only one, and "Reduction over an empty set of values yields minus infinity (if supported by the datatype)".
  https://onnx.ai/onnx/operators/onnx__ReduceMax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
inputs = {'x': np.array([-np.inf], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 9, opset_import: ["" : 20]>
g (float[1] x) => (float[1] y)
{
   y = ReduceMax (x)
}
""")
core = openvino.Core()
made = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
got, expected = made(inputs)[made.outputs[0]], np.array([-np.inf], 'float32')
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
