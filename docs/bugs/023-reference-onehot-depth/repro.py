"""onnx 1.23.2, reference evaluator: OneHot fails where depth is a tensor of rank 1

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: OneHot-11, `depth`: "Scalar or Rank 1 tensor containing exactly one element".
  https://onnx.ai/onnx/operators/onnx__OneHot.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper, numpy_helper

inputs = {'x': np.array([0, 2], 'int64')}
nodes = [helper.make_node('Constant', [], ['depth'], value=numpy_helper.from_array(np.array([3], 'int64'))),
         helper.make_node('Constant', [], ['values'], value=numpy_helper.from_array(np.array([0.0, 1.0], 'float32'))),
         helper.make_node('OneHot', ['x', 'depth', 'values'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT64, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 3])]
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
