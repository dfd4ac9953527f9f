"""onnxruntime 1.32.0: an Add is fused into a LayerNormalization whatever its axis is

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LayerNormalization-17: "`normalized_axes` is `[axis, ..., rank of X - 1]`"; here all three.
  https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
It vanishes with InferenceSession(..., disabled_optimizers=['SkipLayerNormFusion']).
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x0': np.full((1, 2, 1), 0.0, 'float32'), 'x1': np.array([[[0.0], [1.0]]], 'float32')}
weights = {'w0': np.array([1.0], 'float32')}
nodes = [helper.make_node('Add', ['x0', 'x1'], ['v0']),
         helper.make_node('LayerNormalization', ['v0', 'w0'], ['y'], axis=0)]
sides = [helper.make_tensor_value_info('x0', onnx.TensorProto.FLOAT, [1, 2, 1]), helper.make_tensor_value_info('x1', onnx.TensorProto.FLOAT, [1, 2, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=10).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda off=(): ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=[*off]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 1, 0]
expected = 0.9999799728393555
print("expected", expected, "got", got)
print("without SkipLayerNormFusion", np.asarray(run(['SkipLayerNormFusion']))[0, 1, 0])
shows = abs(float(got) - float(expected)) > 3.4705730111994626e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
