"""onnxruntime-webgpu 1.27.0: ReduceMax and ReduceMin of no elements are refused

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceMax-18: "Reduction over an empty set of values yields minus infinity (if supported by the datatype)".
  https://onnx.ai/onnx/operators/onnx__ReduceMax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.zeros((2, 0), 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 18]>
g (float[2,0] x) => (float[2,1] y)
<int64[1] a = {1}>
{
   y = ReduceMax (x, a)
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
expected = np.full((2, 1), -np.inf, 'float32')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = isinstance(got, str) and "CheckInput" in got and processor.shape == expected.shape and np.allclose(processor, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
