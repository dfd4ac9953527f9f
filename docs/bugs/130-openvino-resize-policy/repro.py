"""openvino 2026.4.1: Resize ignores keep_aspect_ratio_policy

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18, `keep_aspect_ratio_policy`: "If keep_aspect_ratio_policy is "not_larger", the sizes are adjusted so that no extent of
the output is larger than the specified size, while keeping the original aspect ratio".
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[[0.0]]]], 'float32')}
weights = {'w0': np.array([2, 4], 'int64')}
nodes = [helper.make_node('Resize', ['x', '', '', 'w0'], ['y'], axes=[0, 1], keep_aspect_ratio_policy='not_larger')]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 2, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[2, 2, 1, 1]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
