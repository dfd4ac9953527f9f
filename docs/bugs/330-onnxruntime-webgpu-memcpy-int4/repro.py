"""onnxruntime-webgpu 1.27.0: a QuantizeLinear to uint4 in front of a DequantizeLinear makes an invalid graph

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DequantizeLinear-21, x: "N-D quantized input tensor to be de-quantized.", which may be uint4, as what QuantizeLinear-21 gives may
be.
  https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([1, 3], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x) => (float[2] y)
<float s = {1}, uint4 z = {0}>
{
   v = QuantizeLinear (x, s, z)
   y = DequantizeLinear (v, s)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "0")
    try:
        session = ort.InferenceSession(model, options, providers=[provider])
        assert session.get_providers()[0] == provider, f"{provider} did not start"
        return session.run(None, inputs)[0]
    except (RuntimeError, ort.capi.onnxruntime_pybind11_state.Fail, ort.capi.onnxruntime_pybind11_state.InvalidGraph) as error:
        return str(error)
expected = np.array([1, 3], 'float32')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
if isinstance(got, str) and "requires f16 but the device does not support it" in got:
    raise RuntimeError("this driver has no half precision")
shows = isinstance(got, str) and 'of operator (MemcpyFromHost)' in got and processor.shape == expected.shape and np.allclose(processor, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
