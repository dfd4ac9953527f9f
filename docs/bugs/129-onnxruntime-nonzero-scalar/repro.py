"""onnxruntime 1.32.0: NonZero takes a scalar for a vector

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: NonZero-9: "for scalar input, NonZero produces output shape (0, N) instead of (1, N), which is different from Numpy's behavior."
  https://onnx.ai/onnx/operators/onnx__NonZero.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array(0.0, 'float32')}
nodes = [helper.make_node('NonZero', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT64, [0, 'n'])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 9)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'int64[0, 0]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
