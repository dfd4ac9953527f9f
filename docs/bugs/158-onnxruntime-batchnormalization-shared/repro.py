"""onnxruntime 1.32.0: BatchNormalization in training reads its scale and bias after it has written over them

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: BatchNormalization-15: "Y = (X - current_mean) / sqrt(current_var + epsilon) * scale + B" in training; of one element that is B,
here 1.
  https://onnx.ai/onnx/operators/onnx__BatchNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[1.0]], 'float32'), 's': np.array([1.0], 'float32')}
nodes = [helper.make_node('BatchNormalization', ['x', 's', 's', 's', 's'], ['y', 'm', 'v'], training_mode=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1]), helper.make_tensor_value_info('s', onnx.TensorProto.FLOAT, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 15)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0]
expected = 1.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 1e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
