"""openvino 2026.4.1: Tile of four axes or more whose repeats are fed gives what was in memory

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Tile-13: "Constructs a tensor by tiling a given tensor. This is the same as function `tile` in Numpy, but no broadcast."
  https://onnx.ai/onnx/operators/onnx__Tile.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
inputs = {'x': np.arange(1, 17, dtype='float32').reshape(2, 2, 2, 2), 'r': np.array([2, 2, 2, 2])}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,2,2,2] x, int64[4] r) => (float[4,4,4,4] y)
{
   y = Tile (x, r)
}
""")
core = openvino.Core()
made = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
got, expected = made(inputs)[made.outputs[0]], np.tile(inputs['x'], inputs['r'])
print("expected", expected[0, 0].tolist(), "got", got[0, 0].tolist())
shows = not np.array_equal(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
