"""onnx 1.23.2, reference evaluator: ConvTranspose fails with more than one group

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ConvTranspose-11, `group`: "number of groups input channels and output channels are divided into".
  https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]], 'float32'), 'w': np.array([[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]], [[7.0], [8.0]]], 'float32')}
nodes = [helper.make_node('ConvTranspose', ['x', 'w'], ['y'], group=2)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 4, 2]), helper.make_tensor_value_info('w', onnx.TensorProto.FLOAT, [4, 2, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 4, 2])]
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
