"""onnxruntime 1.31.1: MaxPool of minus infinity gives the lowest finite number

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12: "The output of each pooling window is maximum number of elements exclude pad."
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[[-np.inf]]], 'float32')}
nodes = [helper.make_node('MaxPool', ['x'], ['y'], kernel_shape=[1])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0, 0]
expected = -np.inf
print("expected", expected, "got", got)
kind = lambda x: str(float(x)) if not np.isfinite(float(x)) else 0
shows = kind(got) != kind(expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
