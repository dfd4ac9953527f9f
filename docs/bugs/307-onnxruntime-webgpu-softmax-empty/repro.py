"""onnxruntime-webgpu 1.27.0: Softmax along an axis of no elements ends the process

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Softmax-13: "The output tensor has the same shape", here no elements.
  https://onnx.ai/onnx/operators/onnx__Softmax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'x': np.zeros((2, 0), 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,0] x) => (float[2,0] y)
{
   y = Softmax (x)
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
