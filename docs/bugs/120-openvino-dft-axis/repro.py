"""openvino 2026.4.1: DFT of opset 20 counts a negative axis without the last dimension

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DFT-20, `axis`: "Default is -2 (last signal axis). Negative value means counting dimensions from the back. Accepted range is [-r,
-2] and [0, r-2] where r = rank(input)."
  https://onnx.ai/onnx/operators/onnx__DFT.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.full((1, 1, 2, 1), 1.0, 'float32')}
nodes = [helper.make_node('DFT', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 2, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 2, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 20)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0, 0, 0, 0]
expected = 2.0
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 3.814697265625e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
