"""onnx 1.23.2, compose: add_prefix renames an initializer, and not where the body of an If reads it

Seen with onnx-compose 1.23.2, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: `add_prefix` "adds a prefix to names of elements in a graph: nodes, edges, inputs, outputs, initializers"; a body may read any
value of the graphs around it (IR.md, "Nested subgraphs").
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.compose
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([1.0, -2.0, 3.0], 'float32'), 'c': np.array(True, 'bool')}
weights = {'d': np.array([1.0, 2.0, 3.0], 'float32')}
body0 = helper.make_graph([helper.make_node('Add', ['x', 'd'], ['p'])], 't', [], [helper.make_tensor_value_info('p', onnx.TensorProto.FLOAT, [3])], [])
body1 = helper.make_graph([helper.make_node('Sub', ['x', 'd'], ['q'])], 'e', [], [helper.make_tensor_value_info('q', onnx.TensorProto.FLOAT, [3])], [])
nodes = [helper.make_node('If', ['c'], ['y'], then_branch=body0, else_branch=body1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [3]), helper.make_tensor_value_info('c', onnx.TensorProto.BOOL, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [3])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
def run():
    proto = onnx.load_model_from_string(model)
    session = ort.InferenceSession(onnx.compose.add_prefix(proto, 'inner/', rename_inputs=False, rename_outputs=False).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(['y'], {value.name: inputs[value.name] for value in session.get_inputs()})[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
