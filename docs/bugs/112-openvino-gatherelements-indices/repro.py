"""openvino 2026.4.1: GatherElements demands indices as large as the data on all other axes

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: GatherElements-13: "Its output shape is the same as the shape of `indices`", and "out[i][j][k] = input[index[i][j][k]][j][k] if
axis = 0"; nothing says that the other sizes are equal.
  https://onnx.ai/onnx/operators/onnx__GatherElements.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x': np.full((1, 1, 1, 2), 0, 'int64')}
weights = {'w0': np.array([[[[0]]]], 'int32')}
nodes = [helper.make_node('GatherElements', ['x', 'w0'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT64, [1, 1, 1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT64, [1, 1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 11)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
