"""onnxruntime 1.32.0: LSTM does not clip its cell state before the last activation

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LSTM-14, `clip`: "Clipping bounds the elements of a tensor in the range of [-threshold, +threshold] and is applied to the input of
activations", of which there are three, f, g and h: "Ht = ot (.) h(Ct)".
  https://onnx.ai/onnx/operators/onnx__LSTM.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x0': np.array([[[-20.0]]], 'float32'), 'x1': np.full((1, 4, 1), 1.0, 'float32')}
nodes = [helper.make_node('LSTM', ['x0', 'x1', 'x1', '', '', '', 'x0'], ['y', 'v0', 'v1'], clip=1.0, hidden_size=1)]
sides = [helper.make_tensor_value_info('x0', onnx.TensorProto.FLOAT, [1, 1, 1]), helper.make_tensor_value_info('x1', onnx.TensorProto.FLOAT, [1, 4, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 14)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0, 0, 0]
expected = -0.20482420921325684
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 2.8215560590183486e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
