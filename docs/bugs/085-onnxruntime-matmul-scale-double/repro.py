"""onnxruntime 1.31.1: a Div or Mul of a MatMul of doubles is fused with its scale in single precision

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Div-7: "Performs element-wise binary division", and both inputs have the same type T, here double.
  https://onnx.ai/onnx/operators/onnx__Div.html
It vanishes with InferenceSession(..., disabled_optimizers=['MatMulScaleFusion']).
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[1.0]], 'float64')}
weights = {'w': np.array(1.1, 'float64')}
nodes = [
    helper.make_node('MatMul', ['x', 'x'], ['v']),
    helper.make_node('Div', ['v', 'w'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.DOUBLE, [1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.DOUBLE, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 9)], ir_version=7).SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda off=(): ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=[*off]).run(['y'], inputs)[0]
got = run()
got = np.asarray(got)[0, 0]
expected = 0.9090909090909091
print("expected", expected, "got", got)
print("without MatMulScaleFusion", np.asarray(run(['MatMulScaleFusion']))[0, 0])
shows = abs(float(got) - float(expected)) > 1e-12
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
