"""onnx2torch 1.5.15: LRN of an even size takes the channel in front for the one behind

Seen with onnx2torch 1.5.15; needs numpy, onnx, onnx2torch. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: LRN-1: the region of channel c is "max(0, c - floor((size - 1) / 2)) <= i <= min(C - 1, c + ceil((size - 1) / 2))"; of size 2 it
holds c and the one behind.
  https://onnx.ai/onnx/operators/onnx__LRN.html
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
from onnx import helper

inputs = {'x': np.full((1, 2, 1, 1), 1.0, 'float32')}
nodes = [helper.make_node('LRN', ['x'], ['y'], size=2)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 2, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 7)], ir_version=8).SerializeToString()
def run():
    module = onnx2torch.convert(onnx.load_model_from_string(model)).eval()
    with torch.inference_mode():
        return module(*(torch.from_numpy(inputs[name]) for name in ['x'])).numpy()
got = np.asarray(run())[0, 1, 0, 0]
expected = 0.9999625086784363
print("expected", expected, "got", got)
shows = abs(float(got) - float(expected)) > 4.703489054236343e-06
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
