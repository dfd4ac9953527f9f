"""onnxruntime 1.31.1: LRN refuses an even size

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LRN-13: "its region is `{X[n, i, d1, ..., dk] | max(0, c - floor((size - 1) / 2)) <= i <= min(C - 1, c + ceil((size - 1) / 2))}`";
rounding down and up has a meaning for even sizes alone.
  https://onnx.ai/onnx/operators/onnx__LRN.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]], 'float32')}
nodes = [helper.make_node('LRN', ['x'], ['y'], size=2, alpha=1.0)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 2, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 2, 1, 1])]
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
