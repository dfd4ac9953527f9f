"""onnxruntime-webgpu 1.27.0: Resize by interpolation leaves out all axes but the last two

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-13, mode: linear is "linear interpolation for 1D tensor and N-linear interpolation for N-D tensor", here between the
channels, of which there are two.
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([0, 4], 'float32').reshape(1, 2, 1, 1)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,2,1,1] x) => (float[1,4,1,1] y)
<float[4] s = {1, 2, 1, 1}>
{
   y = Resize <mode: string = "linear"> (x, "", s)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)[0]
expected = np.array([0, 1, 3, 4], 'float32').reshape(1, 4, 1, 1)
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = not np.allclose(got, expected, rtol=1e-3)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
