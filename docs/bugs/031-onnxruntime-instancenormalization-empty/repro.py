"""onnxruntime 1.31.1: InstanceNormalization of an empty slice dies

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: InstanceNormalization-6: "The output tensor of the same shape as input", here [1,1,0]; no element needs a mean.
  https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[1.0]]], 'float32'), 's': np.array([1.0], 'float32')}
nodes = [helper.make_node('Constant', [], ['z'], value=numpy_helper.from_array(np.array([0], 'int64'))),
         helper.make_node('Constant', [], ['a'], value=numpy_helper.from_array(np.array([2], 'int64'))),
         helper.make_node('Slice', ['x', 'z', 'z', 'a'], ['e']),
         helper.make_node('InstanceNormalization', ['e', 's', 's'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1]), helper.make_tensor_value_info('s', onnx.TensorProto.FLOAT, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 'n'])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
child = os.fork()
if not child:
    run()
    os._exit(0)
status = os.waitpid(child, 0)[1]
if status and not os.WIFSIGNALED(status):
    sys.exit(2)  # the child has said why
shows = status != 0
print("expected an answer, got", "a process that dies" if shows else "one")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
