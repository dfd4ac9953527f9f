"""openvino 2026.4.1: Compress that keeps nothing is refused

Seen with openvino 2026.4.1, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Compress-9: "Selects slices from an input tensor along a given axis where condition evaluates to True"; none is true, and the
output is int64[0].
  https://onnx.ai/onnx/operators/onnx__Compress.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x': np.array([0], 'int64')}
weights = {'w0': np.array([False], 'bool')}
nodes = [helper.make_node('Compress', ['x', 'w0'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT64, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT64, [0])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 9)], ir_version=8).SerializeToString()
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
