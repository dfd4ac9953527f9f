"""onnxruntime 1.32.0: Pow of int64 computes in double precision

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Pow-12 takes int64, and "produces one output data (Tensor<T>) where the function f(x) = x^exponent, is applied to the data tensor
elementwise".
  https://onnx.ai/onnx/operators/onnx__Pow.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[1839630]]], 'int64')}
weights = {'w0': np.array([[[3]]], 'int32')}
nodes = [helper.make_node('Pow', ['x', 'w0'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT64, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT64, [1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 12)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0, 0]
expected = 6225746739637347000
print("expected", expected, "got", got)
shows = bool(got != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
