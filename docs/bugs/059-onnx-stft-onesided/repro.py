"""onnx 1.23.2, shape inference: shape inference of STFT takes 0 for the default of onesided

Seen with onnx-shape-inference 1.23.2, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: STFT-17, `onesided`: "If onesided is 1, only values for w in [0, 1, 2, ..., floor(n_fft/2) + 1] are returned"; the default is 1.
  https://onnx.ai/onnx/operators/onnx__STFT.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.shape_inference
import onnxruntime as ort
from onnx import helper, numpy_helper

inputs = {'x': np.array([[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]], 'float32')}
nodes = [helper.make_node('Constant', [], ['s'], value=numpy_helper.from_array(np.array(4, 'int64'))),
         helper.make_node('Constant', [], ['l'], value=numpy_helper.from_array(np.array(4, 'int64'))),
         helper.make_node('STFT', ['x', 's', '', 'l'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 8, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, None)]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
typed = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(model), check_type=True, strict_mode=True)
got = [d.dim_value for d in typed.graph.output[0].type.tensor_type.shape.dim]
expected = list(ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(['y'], inputs)[0].shape)
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
