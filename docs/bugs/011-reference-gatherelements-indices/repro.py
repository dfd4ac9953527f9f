"""onnx 1.23.2, reference evaluator: GatherElements demands indices as large as the data on all other axes

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: GatherElements-13: "Its output shape is the same as the shape of `indices`", each element given by an equation; nothing demands
equal sizes.
  https://onnx.ai/onnx/operators/onnx__GatherElements.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper, numpy_helper

inputs = {'x': np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 'float32')}
nodes = [helper.make_node('Constant', [], ['indices'], value=numpy_helper.from_array(np.array([[1, 0]], 'int64'))),
         helper.make_node('GatherElements', ['x', 'indices'], ['y'], axis=0)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 3])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2])]
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
