"""onnx 1.23.2, reference evaluator: MaxPool of two dimensions mixes up the order of pads

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12, `pads`: "[x1_begin, x2_begin...x1_end, x2_end,...]".
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]], 'float32')}
nodes = [helper.make_node('MaxPool', ['x'], ['y'], kernel_shape=[2, 2], pads=[0, 0, 1, 1])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 3, 3])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 3, 3])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[1, 1, 3, 3]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
