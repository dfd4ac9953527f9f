"""onnx 1.23.2, reference evaluator: RNN ignores sequence_lens

Seen with reference 1.23.2; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: RNN-14, sequence_lens: "Optional tensor specifying lengths of the sequences in a batch"; Y_h is "the last output value of the
hidden", here that of the first and only step, tanh(1).
  https://onnx.ai/onnx/operators/onnx__RNN.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

inputs = {'x': np.array([[[1.0]], [[0.0]]], 'float32')}
weights = {'w': np.array([[[1.0]]], 'float32'), 'r': np.array([[[0.0]]], 'float32'), 'n': np.array([1], 'int32')}
nodes = [
    helper.make_node('RNN', ['x', 'w', 'r', '', 'n'], ['v', 'y'], hidden_size=1),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 14)], ir_version=8)
got = ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(got)[0, 0, 0]
expected = 0.7615941559557649
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 0.0001
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
