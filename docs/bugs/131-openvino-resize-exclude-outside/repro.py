"""openvino 2026.4.1: Resize ignores exclude_outside

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-13, `exclude_outside`: "If set to 1, the weight of sampling locations outside the tensor will be set to 0 and the weight
will be renormalized so that their sum is 1.0."
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[[0.0, 1.0]]]], 'float32')}
weights = {'w0': np.array([1, 1, 1, 3], 'int64')}
nodes = [helper.make_node('Resize', ['x', '', '', 'w0'], ['y'], mode='cubic', exclude_outside=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1, 3])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[0, 0, 0, 0]
expected = -0.10135138779878616
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 1.6264438797541914e-05
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
