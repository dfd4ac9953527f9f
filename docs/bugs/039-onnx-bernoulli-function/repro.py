"""onnx 1.23.2, function body: Bernoulli's function body gives 1 with probability 1 - p

Seen with onnxruntime 1.31.1, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Bernoulli-15: "an output of 1 is produced with probability p and an output of 0 is produced with probability (1-p)"; 0 and 1 leave
nothing to chance.
  https://onnx.ai/onnx/operators/onnx__Bernoulli.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([0.0, 1.0], 'float32')}
nodes = [helper.make_node('Bernoulli', ['x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [2])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0]
got = np.asarray(run())[1]
expected = 1.0
print("expected", expected, "got", got)
shows = bool(got != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
