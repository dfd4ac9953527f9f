"""openvino 2026.4.1: DFT of doubles is refused

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DFT-17 takes double: T1 is "tensor(bfloat16), tensor(double), tensor(float), tensor(float16)".
  https://onnx.ai/onnx/operators/onnx__DFT.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.array([[[0.0]]], 'float64')}
nodes = [helper.make_node('DFT', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.DOUBLE, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.DOUBLE, [1, 1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
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
