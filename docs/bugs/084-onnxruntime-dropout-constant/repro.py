"""onnxruntime 1.31.1: a Dropout of a constant gives its ratio

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Dropout-13: where training_mode is not set, "output Dropout will be a straight copy of the input".
  https://onnx.ai/onnx/operators/onnx__Dropout.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array(-0.5, 'float32')}
weights = {'w': np.array([1.0, 2.0], 'float32')}
nodes = [
    helper.make_node('Neg', ['x'], ['r']),
    helper.make_node('Dropout', ['w', 'r'], ['d']),
    helper.make_node('Neg', ['d'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = run()
got = "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[2]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
