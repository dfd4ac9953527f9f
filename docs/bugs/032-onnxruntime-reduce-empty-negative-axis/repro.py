"""onnxruntime 1.31.1: reductions of an empty tensor ignore negative axes

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceMean-13, `axes`: "Accepted range is [-r, r-1]"; -1 is the last one, whose size becomes 1. ONNX's shape inference says [0,1].
  https://onnx.ai/onnx/operators/onnx__ReduceMean.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.zeros((0, 2), 'float32')}
nodes = [helper.make_node('ReduceMean', ['x'], ['y'], axes=[-1])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [0, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [0, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[0, 1]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
