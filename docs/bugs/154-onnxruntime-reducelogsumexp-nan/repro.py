"""onnxruntime 1.32.0: ReduceLogSumExp of an infinity in front of a NaN gives the infinity

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceLogSumExp-13: "Computes the log sum exponent of the input tensor's element along the provided axes". The exponential of NaN
is NaN, and so are a sum with it and its logarithm.
  https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([np.inf, np.nan], 'float32')}
nodes = [helper.make_node('ReduceLogSumExp', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)
got = np.asarray(run())[0, 0]
print("expected nan got", got)
shows = not np.isnan(got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
