"""onnxruntime 1.31.1: SplitToSequence obeys keepdims although split is given as a scalar

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: SplitToSequence-11, `keepdims`: "If input 'split' is specified, this attribute is ignored."
  https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort

inputs = {'x': np.array([1.0, 2.0], 'float32')}
model = onnx.parser.parse_model("""<
   ir_version: 8,
   opset_import: ["" : 17]
>
g (float[2] x) => (seq(float[1]) y) {
   s = Constant <value: tensor = int64 {1}> ()
   y = SplitToSequence <keepdims: int = 0> (x, s)
}""").SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
def kind(value):
    if isinstance(value, (list, tuple)):
        return f"sequence of {[kind(item) for item in value]}"
    array = np.asarray(value)
    name = "string" if array.dtype.kind in "OUS" else array.dtype.name
    return "nothing" if value is None else f"{name}{list(array.shape)}"
got = kind(run())
expected = "sequence of ['float32[1]', 'float32[1]']"
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
