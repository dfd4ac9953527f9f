"""onnxsim 0.8.1: a folded Cast to float8 becomes a constant of uint8

Seen with onnxsim 0.8.1, reference 1.23.2, onnxruntime 1.32.0; needs numpy, onnx, onnxsim, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Cast-19: the output has "the data type specified by the 'to' argument", here FLOAT8E4M3FN.
  https://onnx.ai/onnx/operators/onnx__Cast.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxsim
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {}
weights = {'w0': np.array(5, 'int64')}
nodes = [helper.make_node('Cast', ['w0'], ['y'], to=17)]
sides = [], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT8E4M3FN, [])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 19)], ir_version=10).SerializeToString()
def run(made):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).get_outputs()[0].type
expected, got = run(model), run(onnxsim.simplify(onnx.load_model_from_string(model))[0].SerializeToString())
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
