"""openvino 2026.4.1: RNN, GRU and LSTM take batches in front for steps

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: GRU-14, `layout`: "If 1, the following shapes are expected: X.shape = [batch_size, seq_length, input_size], Y.shape = [batch_size,
seq_length, num_directions, hidden_size]".
  https://onnx.ai/onnx/operators/onnx__GRU.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper, numpy_helper

inputs = {'x': np.full((2, 1, 1), 1.0, 'float32')}
weights = {'w0': np.full((1, 3, 1), 1.0, 'float32'), 'w1': np.full((1, 3, 1), 0.0, 'float32')}
nodes = [helper.make_node('GRU', ['x', 'w0', 'w1'], ['y'], hidden_size=1, layout=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 14)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
got = np.asarray(run())[1, 0, 0, 0]
expected = 0.20482420921325684
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 5.7745353725380255e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
