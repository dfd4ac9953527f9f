"""onnx2torch 1.5.15: NonZero gives its indices transposed

Seen with onnx2torch 1.5.15; needs numpy, onnx, onnx2torch. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: NonZero-13: "Returns the indices of the elements that are non-zero (in row-major order - by dimension). NonZero behaves similar to
numpy.nonzero": a row for each dimension.
  https://onnx.ai/onnx/operators/onnx__NonZero.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import re, torch
while True:
    try:
        import onnx2torch
        break
    except RuntimeError as error:  # torch's builds for CPUs lack what torchvision looks for
        torch.library.define(re.search(r"torchvision::\w+", str(error))[0], "(Tensor x) -> Tensor")
        [sys.modules.pop(name) for name in [*sys.modules] if name.startswith(("torchvision", "onnx2torch"))]
inputs = {'x': np.array([1, 0, 2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[3] x) => (int64[1,2] y)
{
   y = NonZero (x)
}
""")
got, expected = onnx2torch.convert(model).eval()(*map(torch.from_numpy, inputs.values())).numpy(), np.array([[0, 2]])
print("expected", expected.shape, expected.tolist(), "got", got.shape, got.tolist())
shows = got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
