"""onnxruntime-webgpu 1.27.0: Slice with a negative step begins at the last element, whatever start says

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Slice-13: "`starts[axes[i]]` is clamped to range `[0, dims[axes[i]]]` for positive stepping, or to range `[0, dims[axes[i]]-1]`
for negative stepping", and elements are taken from there on.
  https://onnx.ai/onnx/operators/onnx__Slice.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([0, 1, 2, 3], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (float[2] y)
<int64[1] s = {1}, int64[1] e = {-9}, int64[1] a = {0}, int64[1] t = {-1}>
{
   y = Slice (x, s, e, a, t)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)[0]
expected = np.array([1, 0], 'float32')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = not np.array_equal(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
