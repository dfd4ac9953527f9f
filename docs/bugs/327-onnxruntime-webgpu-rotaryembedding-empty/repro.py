"""onnxruntime-webgpu 1.27.0: RotaryEmbedding of no positions ends the process

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: RotaryEmbedding-23: "Tensor with same shape as input", here no elements.
  https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.zeros((1, 2, 0, 4), 'float32'), 'c': np.zeros((1, 0, 2), 'float32'), 's': np.zeros((1, 0, 2), 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 11, opset_import: ["" : 23]>
g (float[1,2,0,4] x, float[1,0,2] c, float[1,0,2] s) => (float[1,2,0,4] y)
{
   y = RotaryEmbedding (x, c, s)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)
child = os.fork()
if not child:
    run("WebGpuExecutionProvider")
    os._exit(0)
status = os.waitpid(child, 0)[1]
if status and not os.WIFSIGNALED(status):
    sys.exit(2)  # the child has said why
print("expected", run("CPUExecutionProvider"), "got", "a process that dies" if status else "an answer")
shows = status != 0
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
