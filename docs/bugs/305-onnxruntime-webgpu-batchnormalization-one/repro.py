"""onnxruntime-webgpu 1.27.0: BatchNormalization of one dimension raises

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: BatchNormalization-15, X: "The op also accepts single dimension input of size N in which case C is assumed to be 1".
  https://onnx.ai/onnx/operators/onnx__BatchNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([3, 5], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 15]>
g (float[2] x) => (float[2] y)
<float[1] s = {1}, float[1] b = {0}, float[1] m = {1}, float[1] v = {4}>
{
   y = BatchNormalization (x, s, b, m, v)
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
expected = np.array([1, 2], 'float32')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = isinstance(got, str) and "PermuteDims" in got and processor.shape == expected.shape and np.allclose(processor, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
