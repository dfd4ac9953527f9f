"""onnxruntime 1.31.1: QLinearMatMul leaves its output as it is where there is nothing to add up

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: QLinearMatMul-10 behaves "like numpy.matmul": over an inner size of 0 each sum is 0, which is the zero point, here 7.
  https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'a': np.zeros((16, 0), 'uint8'), 'b': np.zeros((0, 16), 'uint8')}
nodes = [helper.make_node('Constant', [], ['s'], value=numpy_helper.from_array(np.array(0.5, 'float32'))),
         helper.make_node('Constant', [], ['z'], value=numpy_helper.from_array(np.array(7, 'uint8'))),
         helper.make_node('QLinearMatMul', ['a', 's', 'z', 'b', 's', 'z', 's', 'z'], ['y'])]
sides = [helper.make_tensor_value_info('a', onnx.TensorProto.UINT8, [16, 0]), helper.make_tensor_value_info('b', onnx.TensorProto.UINT8, [0, 16])], [helper.make_tensor_value_info('y', onnx.TensorProto.UINT8, [16, 16])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0]
expected = 7
print("expected", expected, "got", got)
shows = bool(got != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
