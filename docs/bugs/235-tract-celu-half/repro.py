"""tract 0.23.9: Celu of float16 halves its negative part for an alpha of 2

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Celu-28: "Perform the linear unit element-wise on the input tensor X using formula: ``` max(0,x) + min(0,alpha*(exp(x/alpha)-1))
```".
  https://onnx.ai/onnx/operators/onnx__Celu.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'x': np.array([-3.0, 1.0], 'float16')}
model = onnx.parser.parse_model("""
<ir_version: 13, opset_import: ["" : 28]>
g (float16[2] x) => (float16[2] y)
{
   y = Celu <alpha: float = 2> (x)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    runnable = tract.onnx().load(path).into_model().into_runnable()
got = [value.to_numpy() for value in runnable.run(list(inputs.values()))]
expected = np.array([-1.5537109375, 1.0], 'float16')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
