"""onnxruntime 1.31.1: moving a DequantizeLinear of int32 behind a Slice makes an invalid graph

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DequantizeLinear-13 takes int32, with a zero point of 0 ("there's no zero point (zero point is supposed to be 0)").
  https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([1, 2, 3, 4], 'int32')}
nodes = [helper.make_node('Constant', [], ['scale'], value=numpy_helper.from_array(np.array(0.5, 'float32'))),
         helper.make_node('Constant', [], ['zero'], value=numpy_helper.from_array(np.array(0, 'int32'))),
         helper.make_node('Constant', [], ['from'], value=numpy_helper.from_array(np.array([1], 'int64'))),
         helper.make_node('Constant', [], ['to'], value=numpy_helper.from_array(np.array([3], 'int64'))),
         helper.make_node('DequantizeLinear', ['x', 'scale', 'zero'], ['d']),
         helper.make_node('Slice', ['d', 'from', 'to'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT32, [4])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2])]
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
