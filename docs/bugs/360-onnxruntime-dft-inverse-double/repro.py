"""onnxruntime 1.32.0: an inverse DFT of doubles divides in single precision

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DFT-17: `input` and `output` are of one type T1, here double, and `inverse` is "Whether to perform the inverse discrete fourier
transform": of 1, 0, 0 a third each, to the precision of doubles.
  https://onnx.ai/onnx/operators/onnx__DFT.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort

inputs = {'x': np.array([[[1], [0], [0]]], 'float64')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (double[1,3,1] x) => (double[1,3,2] y)
{
   y = DFT <inverse: int = 1> (x)
}
""").SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
got, expected = run(model)[0, :, 0], np.full(3, 1 / 3)
print("expected", expected, "got", got, "off by", abs(got - expected).max())
shows = not np.allclose(got, expected, rtol=1e-12, atol=0)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
