"""onnxruntime 1.32.0: a Gemm of what is dequantized is computed on integers whatever the scale of its bias

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Gemm-13: "Compute Y = alpha * A' * B' + beta * C"; C is 4 * 1.0 by DequantizeLinear-13, `y = (x - x_zero_point) * x_scale`.
  https://onnx.ai/onnx/operators/onnx__Gemm.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[0]], 'uint8')}
weights = {'s': np.array(0.5, 'float32'), 'z': np.array(0, 'uint8'), 'w': np.array([[1]], 'uint8'), 'b': np.array([4], 'int32'), 't': np.array(1.0, 'float32')}
nodes = [helper.make_node('DequantizeLinear', ['x', 's', 'z'], ['a']),
         helper.make_node('DequantizeLinear', ['w', 's', 'z'], ['c']),
         helper.make_node('DequantizeLinear', ['b', 't'], ['d']),
         helper.make_node('Gemm', ['a', 'c', 'd'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.UINT8, [1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda off=(): ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=[*off]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0]
expected = 4.0
print("expected", expected, "got", got)
print("without QDQSelectorActionTransformer", np.asarray(run(['QDQSelectorActionTransformer']))[0, 0])
shows = not (abs(float(got) - float(expected)) <= 1e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
