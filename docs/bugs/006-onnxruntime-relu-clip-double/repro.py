"""onnxruntime 1.31.1: fusing a Relu with a Clip of doubles raises

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Clip-13: "Constrain input and output types to all numeric tensors."; Relu-14 takes double as well, and onnxruntime has kernels for
both.
  https://onnx.ai/onnx/operators/onnx__Clip.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([-1.0, 0.25, 2.0], 'float64')}
nodes = [helper.make_node('Constant', [], ['low'], value=numpy_helper.from_array(np.array(0.5, 'float64'))),
         helper.make_node('Relu', ['x'], ['r']),
         helper.make_node('Clip', ['r', 'low'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.DOUBLE, [3])], [helper.make_tensor_value_info('y', onnx.TensorProto.DOUBLE, [3])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
