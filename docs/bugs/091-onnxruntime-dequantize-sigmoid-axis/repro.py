"""onnxruntime:all rejects a program that others run in DequantizeLinear, QuantizeLinear, Sigmoid by QDQSelectorActionTransformer

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
What is expected is what onnxruntime:disabled 1.31.1, torch:eager 2.13.0 answer, by:
  DequantizeLinear-13, https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
  Sigmoid-13, https://onnx.ai/onnx/operators/onnx__Sigmoid.html
  QuantizeLinear-13, https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
It vanishes with InferenceSession(..., disabled_optimizers=['QDQSelectorActionTransformer']).
"""
import os
import sys

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
