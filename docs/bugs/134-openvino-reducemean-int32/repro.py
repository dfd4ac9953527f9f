"""openvino 2026.4.1: ReduceMean and ReduceMax of int32 compute in single precision

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceMean-18: "Computes the mean of the input tensor's elements along the provided axes.", of int32 as well; the mean of one
number is that number, and the largest of one, too.
  https://onnx.ai/onnx/operators/onnx__ReduceMean.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.array([[[56791803]]], 'int32')}
nodes = [helper.make_node('ReduceMean', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT32, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT32, [1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0, 0, 0]
expected = 56791803
print("expected", expected, "got", got)
shows = bool(got != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
