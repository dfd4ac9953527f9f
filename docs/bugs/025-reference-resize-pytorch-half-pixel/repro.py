"""onnx 1.23.2, reference evaluator: cubic Resize to one element with pytorch_half_pixel starts half an element off

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-13: "if coordinate_transformation_mode is "pytorch_half_pixel", x_original = length_resized > 1 ? (x_resized + 0.5) / scale
- 0.5 : 0
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[[1.0, 2.0, 3.0, 4.0]]]], 'float32')}
nodes = [helper.make_node('Constant', [], ['sizes'], value=numpy_helper.from_array(np.full((4,), 1, 'int64'))),
         helper.make_node('Resize', ['x', '', '', 'sizes'], ['y'], mode='cubic', coordinate_transformation_mode='pytorch_half_pixel')]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1, 4])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0, 0, 0]
expected = 1.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 2.9200193199910854e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
