"""onnxruntime 1.31.1: a Pad of a convolution's weights is fused as if it padded the data

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Conv-11: "The convolution operator consumes an input tensor and a filter, and computes the output."; nothing is special about a
filter that a Pad computed.
  https://onnx.ai/onnx/operators/onnx__Conv.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[1.0, 2.0, 3.0, 4.0]]], 'float32'), 'w': np.array([[[1.0, 2.0]]], 'float32')}
nodes = [helper.make_node('Constant', [], ['pads'], value=numpy_helper.from_array(np.array([0, 0, 0, 0, 0, 1], 'int64'))),
         helper.make_node('Pad', ['w', 'pads'], ['p']),
         helper.make_node('Conv', ['x', 'p'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 4]), helper.make_tensor_value_info('w', onnx.TensorProto.FLOAT, [1, 1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
