"""onnxruntime 1.31.1: an operator without a kernel loses its constants where a SequenceMap calls it

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: SequenceMap-17: "Applies a sub-graph to each sample in the input sequence(s)"; Relu-14 takes float16.
  https://onnx.ai/onnx/operators/onnx__SequenceMap.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([1.0], 'float16')}
body_nodes = [helper.make_node('Relu', ['i'], ['o'])]
body = helper.make_graph(body_nodes, 'g', [helper.make_tensor_value_info('i', onnx.TensorProto.FLOAT16, [1])], [helper.make_tensor_value_info('o', onnx.TensorProto.FLOAT16, [1])])
nodes = [
    helper.make_node('SequenceConstruct', ['x'], ['s']),
    helper.make_node('SequenceMap', ['s'], ['t'], body=body),
    helper.make_node('ConcatFromSequence', ['t'], ['y'], axis=0),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT16, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT16, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
