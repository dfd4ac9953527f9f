"""onnxruntime-webgpu 1.27.0: ConvTranspose of several groups with one output channel each reads past its group

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ConvTranspose-11, on the weights: "has size (C x M/group x kH x kW), where C is the number of channels", and on group: "number of
groups input channels and output channels are divided into". So each group sums over its own C/group channels.
  https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([1, 10, 100, 1000], 'float32').reshape(1, 4, 1, 1), 'w': np.array([1, 2, 3, 4], 'float32').reshape(4, 1, 1, 1)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4,1,1] x, float[4,1,1,1] w) => (float[1,2,1,1] y)
{
   y = ConvTranspose <group: int = 2> (x, w)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)[0].ravel()
expected = (inputs['x'].ravel() * inputs['w'].ravel()).reshape(2, 2).sum(axis=1)
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = not np.allclose(got, expected, rtol=1e-5)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
