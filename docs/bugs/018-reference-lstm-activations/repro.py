"""onnx 1.23.2, reference evaluator: LSTM ignores activations, clip and input_forget

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LSTM-14, `activations`: "A list of 3 (or 6 if bidirectional) activation functions"; Relu, Tanh and Sigmoid are not optional.
  https://onnx.ai/onnx/operators/onnx__LSTM.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([[[1.0]], [[2.0]]], 'float32'), 'w': np.full((1, 4, 1), 0.5, 'float32'), 'r': np.full((1, 4, 1), 0.25, 'float32')}
nodes = [helper.make_node('LSTM', ['x', 'w', 'r'], ['y'], hidden_size=1, activations=['Sigmoid', 'Relu', 'Relu'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 1, 1]), helper.make_tensor_value_info('w', onnx.TensorProto.FLOAT, [1, 4, 1]), helper.make_tensor_value_info('r', onnx.TensorProto.FLOAT, [1, 4, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(run())[1, 0, 0, 0]
expected = 0.7455042600631714
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 2.384185791015625e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
