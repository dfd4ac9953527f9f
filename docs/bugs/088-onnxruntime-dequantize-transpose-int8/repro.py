"""onnxruntime 1.31.1: moving a DequantizeLinear of int8 with a zero point behind a Transpose makes an invalid graph

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: DequantizeLinear-21: "The type of the inputs 'x_zero_point' and 'x'.", among them int8. Transpose-21 takes the float that comes of
it.
  https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
It vanishes with InferenceSession(..., disabled_optimizers=['QDQPropagationTransformer']).
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([-3, 2], 'int8')}
weights = {'s': np.array(1.0, 'float32'), 'z': np.array(0, 'int8')}
nodes = [
    helper.make_node('DequantizeLinear', ['x', 's', 'z'], ['v']),
    helper.make_node('Transpose', ['v'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT8, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)], ir_version=10).SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
