"""onnxruntime 1.31.1: a MatMul of dequantized weights rounds its other factor to 8 bits

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MatMul-13: "Matrix product that behaves like numpy.matmul", here of two float matrices: 127 * 0 + 0.4 * 1.
  https://onnx.ai/onnx/operators/onnx__MatMul.html
It vanishes with InferenceSession(..., disabled_optimizers=['QDQSelectorActionTransformer']).
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[127.0, 0.4000000059604645]], 'float32')}
weights = {'w': np.array([[0], [1]], 'int8'), 's': np.array([1.0], 'float32')}
nodes = [
    helper.make_node('DequantizeLinear', ['w', 's'], ['v']),
    helper.make_node('MatMul', ['x', 'v'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=7).SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda off=(): ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=[*off]).run(['y'], inputs)[0]
got = run()
got = np.asarray(got)[0, 0]
expected = 0.4
print("expected", expected, "got", got)
print("without QDQSelectorActionTransformer", np.asarray(run(['QDQSelectorActionTransformer']))[0, 0])
shows = abs(float(got) - float(expected)) > 0.0001
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
