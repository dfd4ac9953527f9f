"""onnxruntime 1.31.1: Resize with tf_crop_and_resize ignores the region on an axis that keeps its length

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-13, tf_crop_and_resize: "x_original = length_resized > 1 ? start_x * (length_original - 1) + x_resized * (end_x - start_x)
* (length_original - 1) / (length_resized - 1) : ...".
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[[0.0, 1.0], [0.0, 1.0]]]], 'float32')}
weights = {'r': np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5], 'float32'), 's': np.array([1, 1, 4, 2], 'int64')}
nodes = [
    helper.make_node('Resize', ['x', 'r', '', 's'], ['y'], coordinate_transformation_mode='tf_crop_and_resize', mode='linear'),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 2, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 4, 2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0, 0, 1]
expected = 0.5
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 3.1490731604577604e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
