"""onnxruntime 1.31.1: STFT of frames of length 0 dies

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: STFT-17: "sliding a window of length `frame_length` over the signal"; a length of 0 is a reason to refuse the call, not to die.
  https://onnx.ai/onnx/operators/onnx__STFT.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.full((1, 4, 1), 1.0, 'float32'), 's': np.array(1, 'int64'), 'l': np.array(0, 'int64')}
nodes = [
    helper.make_node('STFT', ['x', 's', '', 'l'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 4, 1]), helper.make_tensor_value_info('s', onnx.TensorProto.INT64, []), helper.make_tensor_value_info('l', onnx.TensorProto.INT64, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 'n', 'k', 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
child = os.fork()
if not child:
    run()
    os._exit(0)
shows = os.WIFSIGNALED(os.waitpid(child, 0)[1])
print("expected an answer, got", "a process that dies" if shows else "one")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
