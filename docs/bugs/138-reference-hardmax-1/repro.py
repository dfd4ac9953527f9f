"""onnx 1.23.2, reference evaluator: Hardmax, Softmax and LogSoftmax of opsets before 13 go along one axis

Seen with reference 1.23.2; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Hardmax-1: "Input does not need to explicitly be a 2D vector; rather, it will be coerced into one", and "for the default case
where axis=1, this means the input tensor will be coerced into a 2D tensor of dimensions [a_0, a_1 * ... * a_{n-1}]".
  https://onnx.ai/onnx/operators/onnx__Hardmax.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.full((1, 2, 1), 0.0, 'float32')}
nodes = [helper.make_node('Hardmax', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 2, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 7)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(run())[0, 1, 0]
expected = 0.0
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 1.0842021724855044e-19
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
