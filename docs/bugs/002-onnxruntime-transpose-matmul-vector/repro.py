"""onnxruntime 1.31.1: the optimiser fuses a Transpose into a MatMul with a vector and then ignores it

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MatMul-13 "behaves like numpy.matmul": a vector on the right is a column, and the matrix on the left stays transposed.
  https://onnx.ai/onnx/operators/onnx__MatMul.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]], 'float32'), 'v': np.array([1.0, 10.0, 100.0], 'float32')}
nodes = [helper.make_node('Transpose', ['x'], ['t'], perm=[0, 2, 1]),
         helper.make_node('MatMul', ['t', 'v'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 3, 2]), helper.make_tensor_value_info('v', onnx.TensorProto.FLOAT, [3])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0]
expected = 531.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 0.015306472778320312 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
