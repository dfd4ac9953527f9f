"""onnxruntime 1.32.0: Scan along an inner axis of no elements dies

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Scan-16: "scan_out_1 = []" and then "for (int t = 0; t < sequence_length; ++t)", here never: an output without elements.
  https://onnx.ai/onnx/operators/onnx__Scan.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort

inputs = {'x': np.zeros((2, 0), 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,0] x) => (float[0,2] y)
{
   y = Scan <body: graph = b (float[2] s) => (float[2] t) { t = Neg (s) }, num_scan_inputs: int = 1, scan_input_axes: ints = [1]> (x)
}
""").SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
child = os.fork()
if not child:
    run()
    os._exit(0)
status = os.waitpid(child, 0)[1]
if status and not os.WIFSIGNALED(status):
    sys.exit(2)  # the child has said why
shows = status != 0
print("expected an answer, got", "a process that dies" if shows else "one")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
