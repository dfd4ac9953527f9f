"""onnxruntime 1.31.1: Resize copies an axis whose length stays, whatever its scale

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18: x_original = (x_resized + 0.5) / scale - 0.5, here 1.5 for the last element, and "round_prefer_floor" makes that 1.
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([0.0, 1.0, 2.0], 'float32')}
weights = {'w0': np.array([1.25], 'float32')}
nodes = [
    helper.make_node('Resize', ['x', '', 'w0'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [3])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [3])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[2]
expected = 1.0
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 3.814697265625e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
