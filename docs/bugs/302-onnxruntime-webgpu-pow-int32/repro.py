"""onnxruntime-webgpu 1.27.0: Pow of int32 computes in floating point

Seen with onnxruntime-webgpu 1.27.0; needs numpy, onnx, onnxruntime-webgpu and a Vulkan driver. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Pow-15: "the function `f(x) = x^exponent`, is applied to the data tensor elementwise", of integers an integer: 3 to the power of
15 is 14348907.
  https://onnx.ai/onnx/operators/onnx__Pow.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
inputs = {'a': np.array([3, 5, 7], 'int32'), 'b': np.array([15, 9, 7], 'int32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (int32[3] a, int32[3] b) => (int32[3] y)
{
   y = Pow (a, b)
}
""").SerializeToString()
def run(provider):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", str(int(provider != "CPUExecutionProvider")))
    session = ort.InferenceSession(model, options, providers=[provider])
    assert session.get_providers()[0] == provider, f"{provider} did not start"
    return session.run(None, inputs)[0]
expected = np.array([14348907, 1953125, 823543], 'int32')
got, processor = run("WebGpuExecutionProvider"), run("CPUExecutionProvider")
print("expected", expected, "got", got, "on the processor", processor)
shows = not np.array_equal(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
