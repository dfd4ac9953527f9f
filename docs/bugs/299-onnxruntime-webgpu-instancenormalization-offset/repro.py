"""onnxruntime-webgpu 1.27.0: InstanceNormalization of numbers far from zero gives NaN or a wrong scale

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: InstanceNormalization-6: "y = scale * (x - mean) / sqrt(variance + epsilon) + B, where mean and variance are computed per instance
per channel."
  https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([[[20001, 20002, 20003, 20003]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,4] x) => (float[1,1,4] y)
<float[1] s = {1}, float[1] b = {0}>
{
   y = InstanceNormalization (x, s, b)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)[0]
expected = np.array([[[-1.507546, -0.301509, 0.904527, 0.904527]]], 'float32')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = not np.allclose(got, expected, rtol=1e-2)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
