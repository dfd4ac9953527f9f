"""onnx 1.23.2, inliner: the inliner of schema functions fails where an operator reads an initializer

Seen with onnx-inliner 1.23.2, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: `inline_selected_functions(..., inline_schema_functions=True)` "inlines schema-defined functions as well as model-local
functions".
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.inliner
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[1.0, -2.0, 3.0]], 'float32')}
weights = {'s': np.array([1.0, 2.0, 3.0], 'float32')}
nodes = [helper.make_node('LayerNormalization', ['x', 's'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 3])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 3])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
def run():
    proto = onnx.load_model_from_string(model)
    session = ort.InferenceSession(onnx.inliner.inline_selected_functions(proto, [], exclude=True, inline_schema_functions=True).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(['y'], {value.name: inputs[value.name] for value in session.get_inputs()})[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
