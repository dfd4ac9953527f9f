"""onnxruntime 1.31.1: an Add of what is dequantized per axis is fused into an operator that takes one scale only

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DequantizeLinear-13, `x_scale`: "a scalar, which means a per-tensor/layer dequantization, or a 1-D tensor for per-axis
dequantization".
  https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.full((1, 2), 1, 'uint8'), 'w': np.full((1, 2), 1, 'uint8')}
nodes = [helper.make_node('Constant', [], ['s'], value=numpy_helper.from_array(np.array(1.0, 'float32'))),
         helper.make_node('Constant', [], ['t'], value=numpy_helper.from_array(np.array([1.0, 2.0], 'float32'))),
         helper.make_node('DequantizeLinear', ['x', 's'], ['a']),
         helper.make_node('DequantizeLinear', ['w', 't'], ['b']),
         helper.make_node('Add', ['a', 'b'], ['c']),
         helper.make_node('QuantizeLinear', ['c', 's'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.UINT8, [1, 2]), helper.make_tensor_value_info('w', onnx.TensorProto.UINT8, [1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.UINT8, [1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
