"""onnxruntime 1.24.4: inlining an If of a constant condition loses the branch's initializers

Seen with onnxruntime 1.24.4, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IR.md, of a graph, and a branch is one: "When an initializer has a name different from all graph inputs, it specifies a constant
value."
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0], 'float32')}
weights = {'c': np.array(True, 'bool')}
body0 = helper.make_graph([helper.make_node('Add', ['x', 'w'], ['a'])], 't', [], [helper.make_tensor_value_info('a', onnx.TensorProto.FLOAT, [32])], [numpy_helper.from_array(np.full((32,), 1.0, 'float32'), 'w')])
body1 = helper.make_graph([helper.make_node('Neg', ['x'], ['b'])], 'e', [], [helper.make_tensor_value_info('b', onnx.TensorProto.FLOAT, [32])], [])
nodes = [helper.make_node('If', ['c'], ['y'], then_branch=body0, else_branch=body1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [32])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [32])]
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
