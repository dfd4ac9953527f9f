"""openvino 2026.4.1: Unique that does not sort finds the first number only

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Unique-11: "The first output tensor 'Y' contains all unique values or subtensors of the input", and "Outputs are either sorted in
ascending order or optionally in the order of the first occurrence of the values in the input."
  https://onnx.ai/onnx/operators/onnx__Unique.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.array([0.0, 1.0], 'float32')}
nodes = [helper.make_node('Unique', ['x'], ['y'], sorted=0)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [None])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 11)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[1]
expected = 1.0
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 1.9073486328125e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
