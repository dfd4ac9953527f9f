"""onnxruntime 1.31.1: a Pow of any exponent is fused into a LayerNormalization

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Pow-15: "`f(x) = x^exponent`"; a variance is a mean of squares, so only an exponent of 2 makes a LayerNormalization.
  https://onnx.ai/onnx/operators/onnx__Pow.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[0.0, 4.0]], 'float32')}
weights = {'p': np.array(4.0, 'float32'), 'e': np.array(1.0, 'float32'), 's': np.full((2,), 1.0, 'float32'), 'b': np.full((2,), 0.0, 'float32')}
nodes = [helper.make_node('ReduceMean', ['x'], ['m'], axes=[-1]),
         helper.make_node('Sub', ['x', 'm'], ['d']),
         helper.make_node('Pow', ['d', 'p'], ['q']),
         helper.make_node('ReduceMean', ['q'], ['v'], axes=[-1]),
         helper.make_node('Add', ['v', 'e'], ['u']),
         helper.make_node('Sqrt', ['u'], ['r']),
         helper.make_node('Div', ['d', 'r'], ['n']),
         helper.make_node('Mul', ['n', 's'], ['t']),
         helper.make_node('Add', ['t', 'b'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0]
expected = -0.4850712716579437
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 4.273713487989994e-06 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
