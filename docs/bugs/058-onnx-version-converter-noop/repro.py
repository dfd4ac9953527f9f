"""onnx 1.23.2, version converter: conversion to an older opset keeps noop_with_empty_axes, which that does not know

Seen with onnx-version-converter 1.23.2, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: ReduceMean-13: "Computes the mean of the input tensor's elements along the provided axes."; it has the attributes `axes` and
`keepdims`, and `noop_with_empty_axes` came with version 18.
  https://onnx.ai/onnx/operators/onnx__ReduceMean.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[0.0]], 'float32')}
nodes = [helper.make_node('ReduceMean', ['x'], ['y'], noop_with_empty_axes=1)]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
def run():
    proto = onnx.load_model_from_string(model)
    session = ort.InferenceSession(onnx.version_converter.convert_version(proto, 16).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(['y'], {value.name: inputs[value.name] for value in session.get_inputs()})[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
