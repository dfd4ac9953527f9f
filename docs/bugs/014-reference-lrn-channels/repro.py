"""onnx 1.23.2, reference evaluator: LRN normalises only as many channels as there are batches

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LRN-13: "It normalizes over local input regions. The local region is defined across the channels."; `square_sum[n, c, ...]` is
defined for every channel.
  https://onnx.ai/onnx/operators/onnx__LRN.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([[[[1.0]], [[2.0]], [[3.0]]]], 'float32')}
nodes = [helper.make_node('LRN', ['x'], ['y'], size=3, alpha=1.0)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 3, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 3, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(run())[0, 2, 0, 0]
expected = 0.8548151254653931
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 2.384185791015625e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
