"""onnx 1.23.2, reference evaluator: Pad does not remove elements

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Pad-13, `pads`: "the number of padding elements to add or remove (if negative)".
  https://onnx.ai/onnx/operators/onnx__Pad.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper, numpy_helper

inputs = {'x': np.array([1.0, 2.0, 3.0, 4.0], 'float32')}
nodes = [helper.make_node('Constant', [], ['pads'], value=numpy_helper.from_array(np.array([1, -1], 'int64'))),
         helper.make_node('Pad', ['x', 'pads'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [4])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [4])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
