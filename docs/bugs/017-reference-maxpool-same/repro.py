"""onnx 1.23.2, reference evaluator: MaxPool with auto_pad SAME drops the last window

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12, `auto_pad`: "SAME_UPPER or SAME_LOWER mean pad the input so that `output_shape[i] = ceil(input_shape[i] / strides[i])`
for each axis `i`.", here 3.
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]], 'float32')}
nodes = [helper.make_node('MaxPool', ['x'], ['y'], kernel_shape=[2], strides=[3], auto_pad='SAME_LOWER')]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 8])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 3])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[1, 1, 3]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
