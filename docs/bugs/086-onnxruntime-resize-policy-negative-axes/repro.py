"""onnxruntime 1.31.1: Resize that keeps the aspect ratio leaves axes alone that are given as negative numbers

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18, axes: "Non-specified dimensions are interpreted as non-resizable. Negative value means counting dimensions from the
back. Accepted range is [-r, r-1]".
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([1.0], 'float32')}
weights = {'s': np.array([3], 'int64')}
nodes = [
    helper.make_node('Resize', ['x', '', '', 's'], ['y'], keep_aspect_ratio_policy='not_smaller', axes=[-1]),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [3])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = run()
got = "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[3]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
