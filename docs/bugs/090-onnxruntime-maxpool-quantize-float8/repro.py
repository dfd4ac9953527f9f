"""onnxruntime 1.31.1: a QuantizeLinear to float8 is moved in front of a MaxPool, which knows no float8

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12: "Constrain input and output types to float and 8 bit tensors." It knows no float8. QuantizeLinear-21 gives float8 from
what MaxPool answers.
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
It vanishes with InferenceSession(..., disabled_optimizers=['QDQPropagationTransformer']).
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[1.0]]], 'float32')}
weights = {'s': np.array(1.0, 'float32')}
nodes = [
    helper.make_node('MaxPool', ['x'], ['v'], kernel_shape=[1]),
    helper.make_node('QuantizeLinear', ['v', 's', 'z'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT8E4M3FN, [1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()] + [helper.make_tensor('z', onnx.TensorProto.FLOAT8E4M3FN, [], [0.0])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)], ir_version=10).SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
