"""onnxruntime 1.31.1: ReduceSum, ReduceProd, ReduceMean, ReduceL1 and ReduceSumSquare of int64 compute in floating point

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceSumSquare-13: "Computes the sum square of the input tensor's elements along the provided axes.", of int64 as well: 94906267
* 94906267 + 1 = 9007199515875290, far within the range of the type.
  https://onnx.ai/onnx/operators/onnx__ReduceSumSquare.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([94906267, 1], 'int64')}
nodes = [helper.make_node('ReduceSumSquare', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT64, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT64, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0]
expected = 9007199515875290
print("expected", expected, "got", got)
shows = bool(got != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
