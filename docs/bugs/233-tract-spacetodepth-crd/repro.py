"""tract 0.23.9: SpaceToDepth ignores mode

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: SpaceToDepth-28, `mode`: "DCR (default) for depth-column-row order re-arrangement. Use CRD for column-row-depth order."
  https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 13, opset_import: ["" : 28]>
g (float[1,2,2,2] x) => (float[1,8,1,1] y)
{
   y = SpaceToDepth <blocksize: int = 2, mode: string = "CRD"> (x)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    runnable = tract.onnx().load(path).into_model().into_runnable()
got = [value.to_numpy() for value in runnable.run(list(inputs.values()))]
expected = np.array([[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]], [[8.0]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
