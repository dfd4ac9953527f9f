"""onnxruntime 1.32.0: an output of the model is quantised because a Transpose and a QuantizeLinear read it, too

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Neg-13: "each element flipped sign, y = -x"; of 0.3 that is -0.3, whoever else reads it.
  https://onnx.ai/onnx/operators/onnx__Neg.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([0.3], 'float32')}
weights = {'s': np.array(1.0, 'float32'), 'o': np.array(0, 'uint8')}
nodes = [helper.make_node('Neg', ['x'], ['z']),
         helper.make_node('Transpose', ['z'], ['t']),
         helper.make_node('QuantizeLinear', ['t', 's', 'o'], ['q']),
         helper.make_node('DequantizeLinear', ['q', 's', 'o'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1])], [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1]) for n in 'zy']
graph = helper.make_graph(nodes, 'g', *sides, [numpy_helper.from_array(a, n) for n, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)], ir_version=10).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
passes = ['TransposeOptimizer', 'TransposeOptimizer_CPUExecutionProvider']
run = lambda off=(): ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=off).run(['z'], inputs)
got = np.asarray(run())[0, 0]
expected = -0.3
print("expected", expected, "got", got)
print("without", ", ".join(passes), np.asarray(run(passes))[0, 0])
shows = abs(float(got) - expected) > 2.861022949218750e-07
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
