"""onnxruntime 1.31.1: a BatchNormalization with parameters of another type than its data is fused into a MatMul

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: BatchNormalization-15: "Constrain scale and bias types to float tensors.", as T1, apart from the T of X and the T2 of mean and
variance.
  https://onnx.ai/onnx/operators/onnx__BatchNormalization.html
It vanishes with InferenceSession(..., disabled_optimizers=['MatMul_BatchNormalization_Fusion']).
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[1.0]], 'float32')}
weights = {'w': np.array([[1.0]], 'float32'), 's': np.array([0.0], 'float16')}
nodes = [
    helper.make_node('MatMul', ['x', 'w'], ['v']),
    helper.make_node('BatchNormalization', ['v', 's', 's', 's', 's'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 15)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
