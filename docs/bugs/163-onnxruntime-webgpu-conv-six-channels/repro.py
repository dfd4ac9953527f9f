"""onnxruntime-webgpu 1.27.0: Conv of 6 or 9 channels to a multiple of 4 mixes up its weights

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Conv-11: "The convolution operator consumes an input tensor and a filter, and computes the output.", where the filter "has size (M
x C/group x k1 x k2)": every element of it is multiplied once.
  https://onnx.ai/onnx/operators/onnx__Conv.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.arange(54, dtype='float32').reshape(1, 6, 3, 3), 'w': np.arange(96, dtype='float32').reshape(4, 6, 2, 2)}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,6,3,3] x, float[4,6,2,2] w) => (float[1,4,2,2] y)
{
   y = Conv (x, w)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)[0].ravel()
expected = np.ravel([np.sum(filter * inputs['x'][0, :, i : i + 2, j : j + 2]) for filter in inputs['w'] for i in (0, 1) for j in (0, 1)])
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = not np.allclose(got, expected, rtol=1e-5)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
