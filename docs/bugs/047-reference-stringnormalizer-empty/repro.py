"""onnx 1.23.2, reference evaluator: StringNormalizer drops empty strings

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: StringNormalizer-10: "removes elements specified in 'stopwords' attribute"; there are none here, and so every element stays.
  https://onnx.ai/onnx/operators/onnx__StringNormalizer.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array(['', 'a'], object)}
nodes = [helper.make_node('StringNormalizer', ['x'], ['y'], locale='C')]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.STRING, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.STRING, [2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
def kind(value):
    if isinstance(value, (list, tuple)):
        return f"sequence of {[kind(item) for item in value]}"
    array = np.asarray(value)
    name = "string" if array.dtype.kind in "OUS" else array.dtype.name
    return "nothing" if value is None else f"{name}{list(array.shape)}"
got = kind(run())
expected = 'string[2]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
