"""onnx 1.23.2, reference evaluator: ReduceSumSquare of int32 gives int64

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceSumSquare-13: "Constrain input and output types to numeric tensors.", both by the same type T.
  https://onnx.ai/onnx/operators/onnx__ReduceSumSquare.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([1, 2], 'int32')}
nodes = [helper.make_node('ReduceSumSquare', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT32, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT32, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'int32[1]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
