"""openvino 2026.4.1: Resize ignores antialias

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18, `antialias`: "If set to 1, "linear" and "cubic" interpolation modes will use an antialiasing filter when downscaling."
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]]], 'float32')}
weights = {'w0': np.array([1, 1, 1, 3], 'int64')}
nodes = [helper.make_node('Resize', ['x', '', '', 'w0'], ['y'], mode='linear', antialias=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1, 6])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1, 3])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0, 0, 0, 0]
expected = 0.625
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 2.8232570272734847e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
