"""onnxscript 0.7.2: fusing a Pad of opsets before 11 into a Conv looks for an input that is not there

Seen with onnxscript 0.7.2, reference 1.23.2, onnxruntime 1.32.0; needs numpy, onnx, onnxscript, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Pad-2, `pads`: "List of integers indicating the number of padding elements to add or remove (if negative) at the beginning and end
of each axis."; it is an attribute; only from Pad-11 on it is an input.
  https://onnx.ai/onnx/operators/onnx__Pad.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import onnxscript.optimizer
import onnxruntime as ort
from onnx import helper

inputs = {'x': np.array([[[0.0]]], 'float32')}
nodes = [helper.make_node('Pad', ['x'], ['v0'], pads=[0, 0, 0, 0, 0, 0]),
         helper.make_node('Conv', ['v0', 'x'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.FLOAT, [1, 1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 7)], ir_version=4).SerializeToString()
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
def run():
    proto = onnx.load_model_from_string(model)
    session = ort.InferenceSession(onnxscript.optimizer.optimize(proto).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(['y'], {value.name: inputs[value.name] for value in session.get_inputs()})[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
