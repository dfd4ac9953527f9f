"""onnx 1.23.2, reference evaluator: RandomUniformLike of a scalar raises

Seen with reference 1.23.2; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: RandomUniformLike-1: "The shape of the output tensor is copied from the shape of the input tensor"; a scalar has one.
  https://onnx.ai/onnx/operators/onnx__RandomUniformLike.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper, numpy_helper

inputs = {'x': np.array(1.0, 'float32')}
weights = {'z': np.array(2.0, 'float32')}
nodes = [
    helper.make_node('RandomUniformLike', ['x'], ['r']),
    helper.make_node('Less', ['r', 'z'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.BOOL, [])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
