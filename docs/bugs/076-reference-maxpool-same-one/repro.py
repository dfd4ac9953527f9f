"""onnx 1.23.2, reference evaluator: MaxPool of one dimension with auto_pad SAME fails

Seen with reference 1.23.2; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-10: "For non image case, the dimensions are in the form of (N x C x D1 x D2 ... Dn)".
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([[[0.0]]], 'float32')}
nodes = [
    helper.make_node('MaxPool', ['x'], ['y'], kernel_shape=[1], auto_pad='SAME_LOWER'),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 10)], ir_version=7).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
