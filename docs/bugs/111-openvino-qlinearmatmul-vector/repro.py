"""openvino 2026.4.1: QLinearMatMul with a vector and a scale of one element is refused

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: QLinearMatMul-10: "Matrix product that behaves like numpy.matmul", and of scales "scalar (per tensor) or N-D tensor (per row for
'a' and per column for 'b')".
  https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x0': np.array([[0]], 'int8'), 'x1': np.array(0, 'int8')}
weights = {'w0': np.array(0.0, 'float32'), 'w1': np.array([0], 'int8'), 'w2': np.array([0.0], 'float32'), 'w3': np.array([0], 'int8'), 'w4': np.array(0.0, 'float32'), 'w5': np.array(0, 'int8')}
nodes = [helper.make_node('QLinearMatMul', ['x0', 'w0', 'x1', 'w1', 'w2', 'w3', 'w4', 'w5'], ['y'])]
sides = [helper.make_tensor_value_info('x0', onnx.TensorProto.INT8, [1, 1]), helper.make_tensor_value_info('x1', onnx.TensorProto.INT8, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT8, [1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 10)], ir_version=9).SerializeToString()
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
