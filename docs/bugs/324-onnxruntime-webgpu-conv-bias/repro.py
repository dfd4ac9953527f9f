"""onnxruntime-webgpu 1.27.0: Conv of one pixel's size to 6 channels adds other channels' bias

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Conv-11, B: "Optional 1D bias to be added to the convolution, has size of M."
  https://onnx.ai/onnx/operators/onnx__Conv.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.ones((1, 1, 1, 1), 'float32'), 'w': np.zeros((6, 1, 1, 1), 'float32'), 'b': np.array([1, 2, 3, 4, 5, 6], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,1,1] x, float[6,1,1,1] w, float[6] b) => (float[1,6,1,1] y)
{
   y = Conv (x, w, b)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)[0].ravel()
expected = inputs['b']
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = not np.allclose(got, expected, rtol=1e-5)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
