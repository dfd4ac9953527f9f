"""onnx2torch 1.5.15: CumSum adds from the end where reverse is not given

Seen with onnx2torch 1.5.15, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, onnx2torch. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: CumSum-14: "reverse: int (default is 0). If set to 1 will perform the sums in reverse direction."
  https://onnx.ai/onnx/operators/onnx__CumSum.html
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

inputs = {'x': np.array([1.0, 2.0, 3.0], 'float32')}
weights = {'axis': np.array(0, 'int64')}
nodes = [helper.make_node('CumSum', ['x', 'axis'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [3])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [3])]
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
def run():
    module = onnx2torch.convert(onnx.load_model_from_string(model)).eval()
    with torch.inference_mode():
        made = module(*(torch.from_numpy(inputs[name]) for name in ['x']))
    return made.numpy()
got = np.asarray(run())[0]
expected = 1.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 0.0001430511474609375 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
