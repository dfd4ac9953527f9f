"""openvino 2026.4.1: RandomNormalLike of a scalar gives a vector

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: RandomNormalLike-1: "The shape of the output tensor is copied from the shape of the input tensor".
  https://onnx.ai/onnx/operators/onnx__RandomNormalLike.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.array(False, 'bool')}
nodes = [helper.make_node('RandomNormalLike', ['x'], ['y'], dtype=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.BOOL, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 7)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
