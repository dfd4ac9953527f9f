"""openvino 2026.4.1: ReduceLogSum that reduces nothing takes no logarithm

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceLogSum-18, `noop_with_empty_axes`: "composite-reduction operators will still perform the non-reduction steps as needed.
Thus, ReduceLogSum returns the Log of input tensor".
  https://onnx.ai/onnx/operators/onnx__ReduceLogSum.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.array([1.0], 'float32')}
nodes = [helper.make_node('ReduceLogSum', ['x'], ['y'], noop_with_empty_axes=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0]
expected = 0.0
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 1.9073488601861754e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
