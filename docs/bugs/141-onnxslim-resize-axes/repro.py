"""onnxslim 0.1.98: Resize with axes fails in shape inference

Seen with onnxslim 0.1.98; needs numpy, onnx, onnxslim, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-18, `axes`: "If provided, it specifies a subset of axes that roi, scales and sizes refer to."
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxslim
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[0]], 'int32')}
weights = {'w0': np.array([1], 'int64')}
nodes = [helper.make_node('Resize', ['x', '', '', 'w0'], ['y'], axes=[0])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT32, [1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT32, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
def run():
    proto = onnx.load_model_from_string(model)
    session = ort.InferenceSession(onnxslim.slim(proto).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(['y'], {value.name: inputs[value.name] for value in session.get_inputs()})[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
