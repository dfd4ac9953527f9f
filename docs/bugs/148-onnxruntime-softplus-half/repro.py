"""onnxruntime 1.32.0: Softplus of float16 overflows inside

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Softplus-1: "y = ln(exp(x) + 1)"; of 220 it is 220, which float16 holds.
  https://onnx.ai/onnx/operators/onnx__Softplus.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[220.0]], 'float16')}
nodes = [helper.make_node('Softplus', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT16, [1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT16, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0]
expected = 220.0
print("expected", expected, "got", got)
kind = lambda x: str(float(x)) if not np.isfinite(float(x)) else 0
shows = kind(got) != kind(expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
