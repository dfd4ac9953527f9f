"""onnxruntime 1.31.1: a BatchNormalization is fused into a MatMul although what stands between is an output too

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Reshape-14: "Reshape the input tensor similar to numpy.reshape."; an output of the graph is what its node computes, whoever else
reads it.
  https://onnx.ai/onnx/operators/onnx__Reshape.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.full((1, 3), 0.0, 'float32')}
weights = {'w0': np.full((3, 3), 0.0, 'float32'), 'w1': np.array([1, 1, 3], 'int64'), 'w2': np.full((3,), 0.0, 'float32'), 'w3': np.full((3,), 1.0, 'float32'), 'w4': np.full((3,), 0.0, 'float32'), 'w5': np.full((3,), 0.0, 'float32')}
nodes = [helper.make_node('MatMul', ['x', 'w0'], ['v0']),
         helper.make_node('Reshape', ['v0', 'w1'], ['y0']),
         helper.make_node('Transpose', ['y0'], ['v1'], perm=[0, 2, 1]),
         helper.make_node('BatchNormalization', ['v1', 'w2', 'w3', 'w4', 'w5'], ['y1'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 3])], [helper.make_tensor_value_info('y0', onnx.TensorProto.FLOAT, [1, 1, 3]), helper.make_tensor_value_info('y1', onnx.TensorProto.FLOAT, [1, 3, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 9)], ir_version=7).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y0'], inputs)[0]
got = np.asarray(run())[0, 0, 0]
expected = 0.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 1.0842021724855044e-19 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
