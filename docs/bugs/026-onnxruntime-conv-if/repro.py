"""onnxruntime 1.20.1: the optimiser reads beyond the inputs of an If whose bodies use a Conv's output

Seen with onnxruntime 1.20.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IR.md: "A node input in a nested subgraph MAY refer to names introduced in outer graphs (as node outputs, graph inputs, or graph
initializers)".
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[[0.0, 1.0]]]], 'float32'), 'c': np.array(True, 'bool')}
body0 = helper.make_graph([helper.make_node('Neg', ['d'], ['a'])], 't', [], [helper.make_tensor_value_info('a', onnx.TensorProto.FLOAT, [1, 1, 1, 2])], [])
body1 = helper.make_graph([helper.make_node('Abs', ['d'], ['b'])], 'e', [], [helper.make_tensor_value_info('b', onnx.TensorProto.FLOAT, [1, 1, 1, 2])], [])
nodes = [helper.make_node('Constant', [], ['w'], value=numpy_helper.from_array(np.array([[[[2.0]]]], 'float32'))),
         helper.make_node('Not', ['c'], ['n']),
         helper.make_node('Conv', ['x', 'w'], ['d']),
         helper.make_node('If', ['n'], ['y'], then_branch=body0, else_branch=body1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1, 2]), helper.make_tensor_value_info('c', onnx.TensorProto.BOOL, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
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
