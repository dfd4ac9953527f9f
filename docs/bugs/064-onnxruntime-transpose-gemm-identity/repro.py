"""onnxruntime 1.27.0: a Transpose that keeps the order is fused into a Gemm as if it turned it

Seen with onnxruntime 1.27.0, onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Transpose-13: `perm` is "a list of integers", the order of the axes; [0, 1] leaves a matrix as it is.
  https://onnx.ai/onnx/operators/onnx__Transpose.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[0.0, 1.0], [2.0, 3.0]], 'float32')}
weights = {'w0': np.full((2, 1), 1.0, 'float32')}
nodes = [helper.make_node('Transpose', ['x'], ['v0'], perm=[0, 1]),
         helper.make_node('Gemm', ['v0', 'w0'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 11)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0]
expected = 1.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 3.814697265625e-06 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
