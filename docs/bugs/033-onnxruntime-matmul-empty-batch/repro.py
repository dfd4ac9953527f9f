"""onnxruntime 1.31.1: MatMul does not broadcast 1 to 0 in a batch dimension that is not the first

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MatMul-13 "behaves like numpy.matmul", which broadcasts 1 to any size, 0 included.
  https://onnx.ai/onnx/operators/onnx__MatMul.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'a': np.zeros((2, 0, 1, 1), 'float32'), 'b': np.full((2, 1, 1, 1), 1.0, 'float32')}
nodes = [helper.make_node('MatMul', ['a', 'b'], ['y'])]
sides = [helper.make_tensor_value_info('a', onnx.TensorProto.FLOAT, [2, 0, 1, 1]), helper.make_tensor_value_info('b', onnx.TensorProto.FLOAT, [2, 1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 0, 1, 1])]
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
