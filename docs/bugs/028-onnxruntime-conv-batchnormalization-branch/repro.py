"""onnxruntime 1.24.4: fusing Conv and BatchNormalization in a branch asks for the model's path

Seen with onnxruntime 1.24.4, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IR.md: "A node input in a nested subgraph MAY refer to names introduced in outer graphs (as node outputs, graph inputs, or graph
initializers)". A model may be given as bytes.
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[[0.0]]]], 'float32'), 'c': np.array(True, 'bool')}
weights = {'w': np.full((32, 1, 1, 1), 1.0, 'float32'), 's': np.full((32,), 1.0, 'float32')}
body0 = helper.make_graph([helper.make_node('Conv', ['x', 'w'], ['d']),
         helper.make_node('BatchNormalization', ['d', 's', 's', 's', 's'], ['a'])], 't', [], [helper.make_tensor_value_info('a', onnx.TensorProto.FLOAT, [1, 32, 1, 1])], [])
body1 = helper.make_graph([helper.make_node('Conv', ['x', 'w'], ['b'])], 'e', [], [helper.make_tensor_value_info('b', onnx.TensorProto.FLOAT, [1, 32, 1, 1])], [])
nodes = [helper.make_node('If', ['c'], ['y'], then_branch=body0, else_branch=body1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1, 1]), helper.make_tensor_value_info('c', onnx.TensorProto.BOOL, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 32, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
