"""onnxruntime 1.32.0: LRN loses small channels next to large ones

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LRN-13: "square_sum[n, c, d1, ..., dk] = sum(X[n, i, d1, ..., dk] ^ 2)", over the channels of the region.
  https://onnx.ai/onnx/operators/onnx__LRN.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[[[10000.0]], [[1.0]]]], 'float32')}
nodes = [helper.make_node('LRN', ['x'], ['y'], size=1, alpha=1.0, bias=1.0875999927520752)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 2, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 7)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 1, 0, 0]
expected = 1 / (1.0876 + 1) ** 0.75
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 5.1026755087946185e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
