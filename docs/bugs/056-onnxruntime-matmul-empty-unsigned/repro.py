"""onnxruntime 1.31.1: MatMul of unsigned integers with an inner size of 0 raises

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MatMul-13 takes uint32 and uint64, and "behaves like numpy.matmul": zeros.
  https://onnx.ai/onnx/operators/onnx__MatMul.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'a': np.zeros((2, 0), 'uint64'), 'b': np.zeros((0, 3), 'uint64')}
nodes = [helper.make_node('MatMul', ['a', 'b'], ['y'])]
sides = [helper.make_tensor_value_info('a', onnx.TensorProto.UINT64, [2, 0]), helper.make_tensor_value_info('b', onnx.TensorProto.UINT64, [0, 3])], [helper.make_tensor_value_info('y', onnx.TensorProto.UINT64, [2, 3])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
