"""openvino 2026.4.1: Softmax of opset 11 and 12 sums along one axis

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Softmax-11: "The input does not need to explicitly be a 2D vector; rather, it will be coerced into one", and "for the default case
where axis=1, this means the input tensor will be coerced into a 2D tensor of dimensions [a_0, a_1 * ... * a_{n-1}]".
  https://onnx.ai/onnx/operators/onnx__Softmax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.full((1, 1, 2), 0.0, 'float32')}
nodes = [helper.make_node('Softmax', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 11)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0, 0, 1]
expected = 0.5
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 1.686169203374277e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
