"""onnx 1.23.2, reference evaluator: GatherElements fails where the axis has more than 64 elements

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: GatherElements-13: "It is an indexing operation that produces its output by indexing into the input data tensor at index positions
determined by elements of the `indices` tensor."; it has no limit on sizes.
  https://onnx.ai/onnx/operators/onnx__GatherElements.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import base64, io, zlib
from onnx.reference import ReferenceEvaluator
from onnx import helper, numpy_helper

stored = np.load(io.BytesIO(zlib.decompress(base64.b64decode(
    "eNqd0TFIw0AUxvEXW4uKQ4YODh1SEFIhlQxRRArWIiJU5QYFBcEGk1KwtCEpRVEhiIOj4OLY0dHRwaGjo6NjR0dHN/2nVcTVd/fjcfduOPhUNZUuyqjyMpnLH39+V0ay4trzreBUE12utNGbn367vbul9jXpypnp"
    "+dFRaC4bZqnumJZh1tthJ3Rbh+3Q85P7dbcZ+dxHDTfwORcWF6w5y7gw/l9TIvEK3yizEaOHPgaQVREdBmyUoVBDgBjXuMEderjHAx7RxzNe8IoB3vCOD0hFJI0JTENHFjPIwcAsCrBgw8ESSihjDRvYhMIO9nCA"
    "Gjw00ESADk5wjhiXFVXVxoqpv+kl+SQy8lvxMLNRlqo6PhxpLIf+NJx9AXwAWcA="))))
inputs = {name: stored[f'a{n}'] for n, name in enumerate(['x'])}
nodes = [helper.make_node('Constant', [], ['indices'], value=numpy_helper.from_array(np.array([64, 0], 'int64'))),
         helper.make_node('GatherElements', ['x', 'indices'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [65])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2])]
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
