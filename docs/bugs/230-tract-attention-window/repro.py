"""tract 0.23.9: Attention ignores left_window_size and right_window_size

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Attention-25, `left_window_size`: "Maximum number of positions to the left of the current absolute query position that may be
attended."
  https://onnx.ai/onnx/operators/onnx__Attention.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'q': np.array([[[[0.0], [0.0]]]], 'float32'), 'k': np.array([[[[1.0], [2.0]]]], 'float32'), 'v': np.array([[[[1.0], [2.0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 12, opset_import: ["" : 25]>
g (float[1,1,2,1] q, float[1,1,2,1] k, float[1,1,2,1] v) => (float[1,1,2,1] y)
{
   y = Attention <left_window_size: int = 0> (q, k, v)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    runnable = tract.onnx().load(path).into_model().into_runnable()
got = [value.to_numpy() for value in runnable.run(list(inputs.values()))]
expected = np.array([[[[1.5], [2.0]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
