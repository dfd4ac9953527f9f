"""onnxruntime 1.31.1, symbolic shape inference: symbolic shape inference of SplitToSequence calls a function that onnx no longer has

Seen with onnxruntime-shapes 1.31.1, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: SplitToSequence-11: "Split a tensor into a sequence of tensors".
  https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
from onnx import helper, numpy_helper

inputs = {'x': np.full((4,), 1.0, 'float32')}
weights = {'n': np.array(2, 'int64'), 'i': np.array(1, 'int64')}
nodes = [helper.make_node('SplitToSequence', ['x', 'n'], ['s']),
         helper.make_node('SequenceAt', ['s', 'i'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [4])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
def run():
    proto = onnx.load_model_from_string(model)
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    return SymbolicShapeInference.infer_shapes(proto, auto_merge=True)
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
