"""openvino 2026.4.1: BatchNormalization with parameters of another type than its data is refused

Seen with openvino 2026.4.1, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: BatchNormalization-15: "Constrain scale and bias types to float tensors.", as T1, apart from the T of X and the T2 of mean and
variance.
  https://onnx.ai/onnx/operators/onnx__BatchNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x': np.array([[1.0]], 'float32')}
weights = {'s': np.array([5.960464477539063e-08], 'float16'), 'b': np.array([0.0], 'float16'), 'm': np.array([0.0], 'float16'), 'v': np.array([5.960464477539063e-08], 'float16')}
nodes = [helper.make_node('BatchNormalization', ['x', 's', 'b', 'm', 'v'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 15)], ir_version=8).SerializeToString()
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
