"""onnx2torch 1.5.15: ReduceMax over negative axes that do not rise takes the maximum over others

Seen with onnx2torch 1.5.15, onnxruntime 1.32.0; needs numpy, onnx, onnx2torch. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceMax-13, axes: "A list of integers, along which to reduce"; "Accepted range is [-r, r-1]".
  https://onnx.ai/onnx/operators/onnx__ReduceMax.html
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

inputs = {'x': np.array([[[[1.0, 2.0]], [[3.0, 4.0]]]], 'float32')}
nodes = [helper.make_node('ReduceMax', ['x'], ['y'], axes=[-1, -2], keepdims=0)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 2, 1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8).SerializeToString()
def run():
    module = onnx2torch.convert(onnx.load_model_from_string(model)).eval()
    with torch.inference_mode():
        made = module(*(torch.from_numpy(inputs[name]) for name in ['x']))
    return made.numpy()
got = np.asarray(run())[0, 0]
expected = 2.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 1e-06 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
