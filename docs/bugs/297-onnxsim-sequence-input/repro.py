"""onnxsim 0.8.1: an input of the model that is an element of a sequence gets the name of the output

Seen with onnxsim 0.8.1, onnxruntime 1.32.0; needs numpy, onnx, onnxsim, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IR, Graphs: input holds "The input parameters of the graph", which callers name; a simplified model has to take the same ones.
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxsim
import onnxruntime as ort

inputs = {'x': np.array([[0, 1, 2], [3, 4, 5]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x) => (float[2,3] y)
{
   c = Constant <value_int: int = 0> ()
   s = SequenceConstruct (x, x)
   y = SequenceAt (s, c)
}
""").SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
run(model)  # it is valid
made = onnxsim.simplify(onnx.load_model_from_string(model))[0]
names = [value.name for value in made.graph.input]
print("expected an input of the name", *inputs, "got", *names)
shows = names != [*inputs]
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
