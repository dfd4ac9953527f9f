"""onnxruntime-webgpu 1.27.0: MatMul with a vector on the right reads other elements, or makes no valid shader

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MatMul-13: "Matrix product that behaves like numpy.matmul", which appends a 1 to the dimensions of a second argument that is a
vector and removes it afterwards.
  https://onnx.ai/onnx/operators/onnx__MatMul.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.array([[1, 2, 3], [4, 5, 6]], 'float32'), 'w': np.array([1, 10, 100], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x, float[3] w) => (float[2] y)
{
   y = MatMul (x, w)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)[0].ravel()
expected = inputs['x'] @ inputs['w']
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = not np.allclose(got, expected, rtol=1e-5)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
