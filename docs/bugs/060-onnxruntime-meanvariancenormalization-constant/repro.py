"""onnxruntime 1.31.1: MeanVarianceNormalization of constant data gives NaN

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MeanVarianceNormalization-13: "Perform mean variance normalization on the input tensor X using formula: `(X-EX)/sqrt(E(X-EX)^2)`";
it is a function, whose body divides by the standard deviation plus `Epsilon`, 1e-9. Of equal elements that is 0 / 1e-9.
  https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.full((1, 1, 1, 2), 1.0, 'float32')}
nodes = [helper.make_node('MeanVarianceNormalization', ['x'], ['y'], axes=[3])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1, 2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1, 2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[0, 0, 0, 0]
expected = 0.0
print("expected", expected, "got", got)
kind = lambda x: str(float(x)) if not np.isfinite(float(x)) else 0
shows = kind(got) != kind(expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
