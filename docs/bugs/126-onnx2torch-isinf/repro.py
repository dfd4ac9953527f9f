"""onnx2torch 1.5.15: IsInf ignores detect_negative and detect_positive

Seen with onnx2torch 1.5.15; needs numpy, onnx, onnx2torch. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: IsInf-10, `detect_negative`: "Set this attribute to 0 if negative infinity should be mapped to false."
  https://onnx.ai/onnx/operators/onnx__IsInf.html
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

inputs = {'x': np.array([-np.inf], 'float32')}
nodes = [helper.make_node('IsInf', ['x'], ['y'], detect_negative=0)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.BOOL, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 10)], ir_version=8).SerializeToString()
def run():
    module = onnx2torch.convert(onnx.load_model_from_string(model)).eval()
    with torch.inference_mode():
        return module(*(torch.from_numpy(inputs[name]) for name in ['x'])).numpy()
got = np.asarray(run())[0]
expected = False
print("expected", expected, "got", got)
shows = bool(got != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
