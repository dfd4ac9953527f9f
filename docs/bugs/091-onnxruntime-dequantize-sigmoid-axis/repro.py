"""onnxruntime 1.31.1: a Sigmoid of what is dequantized per axis is fused into an operator that takes one scale only

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DequantizeLinear-13: x_scale "can be a scalar, which means a per-tensor/layer dequantization, or a 1-D tensor for per-axis
dequantization".
  https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
It vanishes with InferenceSession(..., disabled_optimizers=['QDQSelectorActionTransformer']).
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[3, 2]], 'uint8')}
weights = {'s': np.array([1.0, 1.0], 'float32'), 't': np.array(1.0, 'float32')}
nodes = [
    helper.make_node('DequantizeLinear', ['x', 's'], ['v']),
    helper.make_node('Sigmoid', ['v'], ['w']),
    helper.make_node('QuantizeLinear', ['w', 't'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.UINT8, [1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.UINT8, [1, 2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=7).SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
