"""onnxruntime 1.31.1: two Casts that cancel out are removed although the body of an If uses their result

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IR.md: "A node input in a nested subgraph MAY refer to names introduced in outer graphs (as node outputs, graph inputs, or graph
initializers)".
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([1.0], 'float32'), 'c': np.array(False, 'bool')}
body0 = helper.make_graph([helper.make_node('Neg', ['x'], ['p'])], 't', [], [helper.make_tensor_value_info('p', onnx.TensorProto.FLOAT, [1])], [])
body1 = helper.make_graph([helper.make_node('Neg', ['b'], ['q'])], 'e', [], [helper.make_tensor_value_info('q', onnx.TensorProto.FLOAT, [1])], [])
nodes = [helper.make_node('Cast', ['x'], ['a'], to=11),
         helper.make_node('Cast', ['a'], ['b'], to=1),
         helper.make_node('If', ['c'], ['y'], then_branch=body0, else_branch=body1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1]), helper.make_tensor_value_info('c', onnx.TensorProto.BOOL, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
