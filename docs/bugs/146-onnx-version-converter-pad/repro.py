"""onnx 1.23.2, version converter: conversion of a Pad to opset 11 fills in a float32 whatever the type of the data

Seen with onnx-version-converter 1.23.2, reference 1.23.2; needs numpy, onnx, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Pad-11, `constant_value`: "(Optional) A scalar value to be used if the mode chosen is `constant` (by default it is 0).", of the
type T of `data`; Pad-2 takes float16, float and double.
  https://onnx.ai/onnx/operators/onnx__Pad.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([0.0], 'float64')}
nodes = [helper.make_node('Pad', ['x'], ['y'], pads=[0, 0])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.DOUBLE, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.DOUBLE, [1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 7)], ir_version=4).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
def run():
    proto = onnx.load_model_from_string(model)
    session = ort.InferenceSession(onnx.version_converter.convert_version(proto, 21).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(['y'], {value.name: inputs[value.name] for value in session.get_inputs()})[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
