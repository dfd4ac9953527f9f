"""onnxruntime 1.31.1: a DequantizeLinear of int8 without zero point loses negative numbers before a Reshape

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DequantizeLinear-13, `x_zero_point`: "Zero point is 0 when it's not specified"; -4 times 0.5 is -2.
  https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([3, -4], 'int8')}
nodes = [helper.make_node('Constant', [], ['s'], value=numpy_helper.from_array(np.array(0.5, 'float32'))),
         helper.make_node('Constant', [], ['n'], value=numpy_helper.from_array(np.array([1, 2], 'int64'))),
         helper.make_node('DequantizeLinear', ['x', 's'], ['d']),
         helper.make_node('Reshape', ['d', 'n'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT8, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 1]
expected = -2.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 1e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
