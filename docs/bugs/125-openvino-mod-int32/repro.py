"""openvino 2026.4.1: Mod of int32 computes in single precision

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Mod-10: "Performs element-wise binary modulus", and takes int32.
  https://onnx.ai/onnx/operators/onnx__Mod.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x': np.array([56791803], 'int32')}
weights = {'w0': np.array([4], 'int32')}
nodes = [helper.make_node('Mod', ['x', 'w0'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT32, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT32, [1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 10)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0]
expected = 3
print("expected", expected, "got", got)
shows = bool(got != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
