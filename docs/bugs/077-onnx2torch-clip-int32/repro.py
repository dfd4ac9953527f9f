"""onnx2torch 1.5.15: Clip of int32 gives float32

Seen with onnx2torch 1.5.15, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, onnx2torch. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Clip-13: "Constrain input and output types to all numeric tensors.", both by the same type T.
  https://onnx.ai/onnx/operators/onnx__Clip.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import re, torch
while True:
    try:
        import onnx2torch
        break
    except RuntimeError as error:  # torch's builds for CPUs lack what torchvision looks for
        torch.library.define(re.search(r"torchvision::\w+", str(error))[0], "(Tensor x) -> Tensor")
        [sys.modules.pop(name) for name in [*sys.modules] if name.startswith(("torchvision", "onnx2torch"))]
from onnx import helper, numpy_helper

inputs = {'x': np.array([1, 5], 'int32')}
weights = {'a': np.array(0, 'int32'), 'b': np.array(2, 'int32')}
nodes = [helper.make_node('Clip', ['x', 'a', 'b'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT32, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.INT32, [2])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
def run():
    module = onnx2torch.convert(onnx.load_model_from_string(model)).eval()
    with torch.inference_mode():
        made = module(*(torch.from_numpy(inputs[name]) for name in ['x']))
    return made.numpy()
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'int32[2]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
