"""onnx 1.23.2, reference evaluator: LpNormalization with p = 1 divides by the sum and not by the sum of magnitudes

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LpNormalization-1: "the order of the normalization, only 1 or 2 are supported". The norm of order 1 of `[1, -2, 3]` is 6.
  https://onnx.ai/onnx/operators/onnx__LpNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([1.0, -2.0, 3.0], 'float32')}
nodes = [helper.make_node('LpNormalization', ['x'], ['y'], p=1, axis=0)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [3])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [3])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(run())[0]
expected = 0.1666666716337204
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 1e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
