"""onnxruntime 1.23.2: LayerNormalization refuses to normalise one element

Seen with onnxruntime 1.23.2, reference 1.23.2, torch 2.13.0+cpu; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LayerNormalization-17: "The first stage is standardization, which makes the normalized elements have zero mean and unit
variances."; it names no smallest size; of one element the answer is 0 times the scale.
  https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[0.0], [1.0]], 'float32'), 's': np.array([0.0], 'float32')}
nodes = [helper.make_node('LayerNormalization', ['x', 's'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2, 1]), helper.make_tensor_value_info('s', onnx.TensorProto.FLOAT, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2, 1])]
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
