"""onnx 1.23.2, reference evaluator: RNN knows no Relu

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: RNN-14, `activations`: "One (or two if bidirectional) activation function for input gate. The activation function must be one of
the activation functions specified above."; `Relu(x) - max(0, x)` is among them.
  https://onnx.ai/onnx/operators/onnx__RNN.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([[[1.0]], [[2.0]]], 'float32'), 'w': np.array([[[1.0]]], 'float32'), 'r': np.array([[[0.25]]], 'float32')}
nodes = [helper.make_node('RNN', ['x', 'w', 'r'], ['y'], hidden_size=1, activations=['Relu'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 1, 1]), helper.make_tensor_value_info('w', onnx.TensorProto.FLOAT, [1, 1, 1]), helper.make_tensor_value_info('r', onnx.TensorProto.FLOAT, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
