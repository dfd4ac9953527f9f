"""onnx 1.23.2, reference evaluator: Loop puts stacked values end to end

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Loop-16: `user_defined_vals[i] = user_defined_val // accumulate scan-output values`; ONNX's shape inference puts an axis of the
turns in front.
  https://onnx.ai/onnx/operators/onnx__Loop.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper, numpy_helper

inputs = {'x': np.full((2, 1), 1.0, 'float32'), 'c': np.array(True, 'bool')}
body0 = helper.make_graph([helper.make_node('Identity', ['k'], ['l']),
         helper.make_node('Neg', ['x'], ['s'])], 'b', [helper.make_tensor_value_info('i', onnx.TensorProto.INT64, []), helper.make_tensor_value_info('k', onnx.TensorProto.BOOL, [])], [helper.make_tensor_value_info('l', onnx.TensorProto.BOOL, []), helper.make_tensor_value_info('s', onnx.TensorProto.FLOAT, [2, 1])], [])
nodes = [helper.make_node('Constant', [], ['n'], value=numpy_helper.from_array(np.array(2, 'int64'))),
         helper.make_node('Loop', ['n', 'c'], ['y'], body=body0)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 1]), helper.make_tensor_value_info('c', onnx.TensorProto.BOOL, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 2, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[2, 2, 1]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
