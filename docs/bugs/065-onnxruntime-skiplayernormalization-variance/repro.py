"""onnxruntime 1.27.0: an Add fused into a LayerNormalization computes the variance by a difference that cancels out

Seen with onnxruntime 1.27.0, onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LayerNormalization-17: "D = Sub(X, Mean) DD = Mul(D, D) Var = ReduceMean<axes=normalized_axes>(DD)": the variance is the mean of
squared deviations.
  https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[100.0999984741211, 100.30000305175781], [300.70001220703125, 300.79998779296875]]], 'float32')}
weights = {'w0': np.array([1.0], 'float32'), 'w1': np.full((2,), 1.0, 'float32')}
nodes = [helper.make_node('Add', ['x', 'w0'], ['v0']),
         helper.make_node('Add', ['v0', 'x'], ['v1']),
         helper.make_node('LayerNormalization', ['v1', 'w1'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 2, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2, 2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=10).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 1, 1]
expected = 0.9995000958442688
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 1.5842275780997284e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
