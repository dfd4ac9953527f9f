"""openvino 2026.4.1: Cast of NaN to bool gives False

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Cast-13, from floating point "to bool: +/- 0.0 to False; all else to True".
  https://onnx.ai/onnx/operators/onnx__Cast.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.array([np.nan], 'float32')}
nodes = [helper.make_node('Cast', ['x'], ['y'], to=9)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.BOOL, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 7)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0]
expected = True
print("expected", expected, "got", got)
shows = bool(got != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
