"""openvino 2026.4.1: AveragePool with padding that counts divides the last window by more than it holds

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: AveragePool-10: "The output of each pooling window is divided by the number of elements (exclude pad when attribute
count_include_pad is zero)". With `ceil_mode` the last window holds what is left of data and `pads`, and nothing else.
  https://onnx.ai/onnx/operators/onnx__AveragePool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.full((1, 1, 4), 1.0, 'float32')}
nodes = [helper.make_node('AveragePool', ['x'], ['y'], kernel_shape=[3], strides=[3], pads=[1, 0], ceil_mode=1, count_include_pad=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 4])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 10)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0, 0, 1]
expected = 1.0
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 9.5367431640625e-07
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
