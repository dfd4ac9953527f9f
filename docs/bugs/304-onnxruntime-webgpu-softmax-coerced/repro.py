"""onnxruntime-webgpu 1.27.0: Softmax of opsets before 13 is refused where several axes make an even row

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Softmax-11: "input will be coerced into a 2-dimensional tensor with dimensions [a_0 * ... * a_{k-1}, a_k * ... * a_{n-1}]", here
into one row.
  https://onnx.ai/onnx/operators/onnx__Softmax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.zeros((2, 2), 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 11]>
g (float[2,2] x) => (float[2,2] y)
{
   y = Softmax <axis: int = 0> (x)
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
expected = np.full((2, 2), 0.25, 'float32')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = isinstance(got, str) and "GetReducedShape" in got and processor.shape == expected.shape and np.allclose(processor, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
