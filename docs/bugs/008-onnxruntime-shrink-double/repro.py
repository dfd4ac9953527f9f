"""onnxruntime 1.31.1: Shrink of doubles, or of large integers, computes in single precision

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Shrink-9: "produces one Tensor output, having same datatype and shape with input"; of double `If x > lambd, y = x - bias`.
  https://onnx.ai/onnx/operators/onnx__Shrink.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([0.3333333333333333, 1.1, -2.3], 'float64')}
nodes = [helper.make_node('Shrink', ['x'], ['y'], lambd=0.5, bias=0.25)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.DOUBLE, [3])], [helper.make_tensor_value_info('y', onnx.TensorProto.DOUBLE, [3])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[2]
expected = -2.05
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 6.437379080603478e-14 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
