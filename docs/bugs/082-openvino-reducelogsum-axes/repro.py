"""openvino 2026.4.1: ReduceLogSum ignores axes before opset 18

Seen with openvino 2026.4.1, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceLogSum-13, axes: "A list of integers, along which to reduce".
  https://onnx.ai/onnx/operators/onnx__ReduceLogSum.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.full((1, 2, 1), 0.0, 'float32')}
nodes = [helper.make_node('ReduceLogSum', ['x'], ['y'], axes=[0])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 2, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[1, 2, 1]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
