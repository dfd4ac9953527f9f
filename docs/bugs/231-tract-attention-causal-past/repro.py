"""tract 0.23.9: Attention with is_causal ignores how much past there is

Seen with tract 0.23.9; needs numpy, onnx, tract. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Attention-23, `is_causal`: "query `i` attends key `j` iff `j <= i + past_sequence_length` (the count of cached keys in
`past_key`)".
  https://onnx.ai/onnx/operators/onnx__Attention.html
"""
import os, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import tract
inputs = {'q': np.array([[[[1.0]]]], 'float32'), 'k': np.array([[[[1.0]]]], 'float32'), 'v': np.array([[[[7.0]]]], 'float32'), 'pk': np.array([[[[1.0]]]], 'float32'), 'pv': np.array([[[[1.0]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 23]>
g (float[1,1,1,1] q, float[1,1,1,1] k, float[1,1,1,1] v, float[1,1,1,1] pk, float[1,1,1,1] pv) => (float[1,1,1,1] y)
{
   y, ok, ov = Attention <is_causal: int = 1> (q, k, v, "", pk, pv)
}
""")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    runnable = tract.onnx().load(path).into_model().into_runnable()
got = [value.to_numpy() for value in runnable.run(list(inputs.values()))]
expected = np.array([[[[4.0]]]], 'float32')
print("expected", expected.dtype, expected.tolist(), "got", got[0].dtype, got[0].tolist())
same = got[0].shape == expected.shape and got[0].dtype == expected.dtype
shows = not same or not np.allclose(got[0], expected, rtol=2e-5, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
