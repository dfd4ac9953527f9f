"""tract 0.23.9: GRU, LSTM and RNN go forward where their direction is reverse

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: GRU-14, `direction`: "Specify if the RNN is forward, reverse, or bidirectional." A reverse one begins with the last element.
  https://onnx.ai/onnx/operators/onnx__GRU.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([[[1.0]], [[2.0]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 14]>
g (float[2,1,1] x) => (float[2,1,1,1] y)
<float[1,3,1] w = {1, 1, 1}, float[1,3,1] r = {1, 1, 1}>
{
   y = GRU <hidden_size: int = 1, direction: string = "reverse"> (x, w, r)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    runnable = tract.onnx().load(path).into_model().into_runnable()
got = [value.to_numpy() for value in runnable.run(list(inputs.values()))]
expected = np.array([[[[0.2830165922641754]]], [[[0.11491495370864868]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
