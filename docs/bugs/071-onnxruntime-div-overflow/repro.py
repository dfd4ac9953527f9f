"""onnxruntime 1.31.1: Div of the least integer by -1 dies

Seen with onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Div-13: "Performs element-wise binary division"; the quotient has no int32, but no text allows a process to end.
  https://onnx.ai/onnx/operators/onnx__Div.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([-2147483648], 'int32'), 'd': np.array([-1], 'int32')}
nodes = [
    helper.make_node('Div', ['x', 'd'], ['y']),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT32, [1]), helper.make_tensor_value_info('d', onnx.TensorProto.INT32, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT32, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
child = os.fork()
if not child:
    run()
    os._exit(0)
shows = os.WIFSIGNALED(os.waitpid(child, 0)[1])
print("expected an answer, got", "a process that dies" if shows else "one")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
