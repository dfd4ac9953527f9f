"""onnxruntime 1.31.1: fusing a Pad into an AveragePool with ceil_mode drops the last window

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: AveragePool-11, `ceil_mode`: "Whether to use ceil or floor (default) to compute the output shape."; `ceil((7 - 2) / 2 + 1)` = 4
windows over the 7 padded elements. ONNX's shape inference says 4, too.
  https://onnx.ai/onnx/operators/onnx__AveragePool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[1.0, 2.0, 3.0, 4.0, 5.0]]], 'float32')}
nodes = [helper.make_node('Constant', [], ['pads'], value=numpy_helper.from_array(np.array([0, 0, 1, 0, 0, 1], 'int64'))),
         helper.make_node('Pad', ['x', 'pads'], ['p']),
         helper.make_node('AveragePool', ['p'], ['y'], kernel_shape=[2], strides=[2], ceil_mode=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 5])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 4])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[1, 1, 4]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
