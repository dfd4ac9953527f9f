"""onnxruntime 1.31.1: the optimiser folds zeros of a Pad into a MaxPool, which pads with minus infinity

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Pad-13: `constant_value` "by default it is 0"; so the zeros take part in the maximum. MaxPool-12 does not count its own padding.
  https://onnx.ai/onnx/operators/onnx__Pad.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[-1.0, -2.0, -3.0, -4.0]]], 'float32')}
nodes = [helper.make_node('Constant', [], ['pads'], value=numpy_helper.from_array(np.array([0, 0, 1, 0, 0, 1], 'int64'))),
         helper.make_node('Pad', ['x', 'pads'], ['p']),
         helper.make_node('MaxPool', ['p'], ['y'], kernel_shape=[3])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 4])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 4])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0, 3]
expected = 0.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 3.371747880871523e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
