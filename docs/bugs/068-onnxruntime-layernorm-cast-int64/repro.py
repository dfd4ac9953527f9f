"""onnxruntime 1.31.1: a Cast of integers in front is fused into a LayerNormalization

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Cast-13: "The operator casts the elements of a given input tensor to a data type specified by the 'to' argument";
LayerNormalization-17 takes the float that comes of int64.
  https://onnx.ai/onnx/operators/onnx__Cast.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
inputs = {'x': np.array([[0, 4]], 'int64')}
weights = {'a': np.array([-1], 'int64'), 'p': np.array(2.0, 'float32'), 'e': np.array(1.0, 'float32'), 's': np.full((2,), 1.0, 'float32'), 'b': np.full((2,), 0.0, 'float32')}
nodes = [helper.make_node('Cast', ['x'], ['c'], to=1),
         helper.make_node('ReduceMean', ['c', 'a'], ['m']),
         helper.make_node('Sub', ['c', 'm'], ['d']),
         helper.make_node('Pow', ['d', 'p'], ['q']),
         helper.make_node('ReduceMean', ['q', 'a'], ['v']),
         helper.make_node('Add', ['v', 'e'], ['u']),
         helper.make_node('Sqrt', ['u'], ['r']),
         helper.make_node('Div', ['d', 'r'], ['n']),
         helper.make_node('Mul', ['n', 's'], ['t']),
         helper.make_node('Add', ['t', 'b'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT64, [1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
