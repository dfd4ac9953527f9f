"""onnxruntime-webgpu 1.27.0: Gemm with a scalar C ends the process

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Gemm-13, C: "The shape of C should be unidirectional broadcastable to (M, N)", as a scalar is.
  https://onnx.ai/onnx/operators/onnx__Gemm.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'a': np.arange(9, dtype='float32').reshape(9, 1), 'b': np.array([[2]], 'float32'), 'c': np.array(1, 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[9,1] a, float[1,1] b, float c) => (float[9,1] y)
{
   y = Gemm (a, b, c)
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
