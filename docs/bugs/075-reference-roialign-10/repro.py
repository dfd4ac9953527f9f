"""onnx 1.23.2, reference evaluator: RoiAlign-10 shifts regions by half a pixel

Seen with reference 1.23.2; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: RoiAlign-16, coordinate_transformation_mode: "Use the value 'output_half_pixel' to omit the pixel shift for the input (use this
for a backward-compatible behavior)": RoiAlign-10 has none.
  https://onnx.ai/onnx/operators/onnx__RoiAlign.html
"""
import os, sys

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0], [12.0, 13.0, 14.0, 15.0]]]], 'float32'), 'r': np.array([[0.0, 0.0, 3.0, 3.0]], 'float32'), 'b': np.array([0], 'int64')}
nodes = [
    helper.make_node('RoiAlign', ['x', 'r', 'b'], ['y'], sampling_ratio=1),
]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 4, 4]), helper.make_tensor_value_info('r', onnx.TensorProto.FLOAT, [1, 4]), helper.make_tensor_value_info('b', onnx.TensorProto.INT64, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 10)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0, 0, 0]
expected = 7.5
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 6.98362758271287e-05
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
