"""onnxruntime 1.32.0: a DequantizeLinear of int4 in front of a MaxPool is dropped, which knows no int4

Seen with onnxruntime 1.32.0; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: MaxPool-12: "Constrain input and output types to float and 8 bit tensors." It knows no int4. DequantizeLinear-21 makes float of
int4.
  https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[[1.0]]], 'float32')}
nodes = [helper.make_node('QuantizeLinear', ['x', 's', 'o'], ['q']),
         helper.make_node('DequantizeLinear', ['q', 's', 'o'], ['d']),
         helper.make_node('MaxPool', ['d'], ['y'], kernel_shape=[1])]
weights = [helper.make_tensor('s', onnx.TensorProto.FLOAT, [], [1.0]), helper.make_tensor('o', onnx.TensorProto.INT4, [], [0])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides, weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)], ir_version=10).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
run = lambda off=(): ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=off).run(['y'], inputs)
told = ""
try:
    run()
except Exception as error:
    told = f"{type(error).__name__}: {error}"
print("expected an answer, got", told or "one")
print("without QDQSelectorActionTransformer", run(["QDQSelectorActionTransformer"])[0].tolist())
shows = "operator (MaxPool)" in told
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
