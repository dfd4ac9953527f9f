"""onnxruntime-webgpu 1.27.0: LayerNormalization refuses a scale that is broadcast

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LayerNormalization-17: "This operator supports unidirectional broadcasting (tensors `Scale` and `B` should be unidirectional
broadcastable to tensor `X`)"
  https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([[0, 1, 2, 3]], 'float32'), 's': np.array([2], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x, float[1] s) => (float[1,4] y)
{
   y = LayerNormalization (x, s)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    try:
        return session.run(None, inputs)[0]
    except Exception as error:
        return str(error)
expected = np.array([[-2.683271, -0.894424, 0.894424, 2.683271]], 'float32')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = isinstance(got, str) and "Size of scale" in got and np.allclose(processor, expected, rtol=1e-3)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
