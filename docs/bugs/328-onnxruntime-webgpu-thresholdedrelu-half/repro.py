"""onnxruntime-webgpu 1.27.0: ThresholdedRelu of half precision makes no valid shader

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ThresholdedRelu-10, T: "Constrain input and output types to float tensors.", of which float16 is one.
  https://onnx.ai/onnx/operators/onnx__ThresholdedRelu.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([0.5, 2], 'float16')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float16[2] x) => (float16[2] y)
{
   y = ThresholdedRelu (x)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    try:
        session = ort.InferenceSession(model, options, providers=[provider])
        assert session.get_providers()[0] == provider, f"{provider} did not start"
        return session.run(None, inputs)[0]
    except (RuntimeError, ort.capi.onnxruntime_pybind11_state.Fail) as error:
        return str(error)
expected = np.array([0, 2], 'float16')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
if isinstance(got, str) and "requires f16 but the device does not support it" in got:
    raise RuntimeError("this driver has no half precision")
shows = isinstance(got, str) and 'Failed to create a WebGPU compute pipeline' in got and processor.shape == expected.shape and np.allclose(processor, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
