"""openvino 2026.4.1: Clip without bounds behind what cannot be converted dies

Seen with openvino 2026.4.1; needs numpy, onnx, openvino. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Clip-11: "They default to numeric_limits::lowest() and numeric_limits::max(), respectively.", min and max; TfIdfVectorizer is one
of ONNX's operators, and a front end that lacks it may say so.
  https://onnx.ai/onnx/operators/onnx__Clip.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import openvino
from onnx import helper

inputs = {'x': np.array([[0]], 'int64')}
nodes = [helper.make_node('TfIdfVectorizer', ['x'], ['v0'], max_gram_length=1, min_gram_length=1, max_skip_count=0, mode='TF', ngram_counts=[0], ngram_indexes=[0, 0], pool_int64s=[0, 1]),
         helper.make_node('Clip', ['v0'], ['y'])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT64, [1, 1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [1, 1])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 11)], ir_version=8).SerializeToString()
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[0]]
child = os.fork()
if not child:
    run()
    os._exit(0)
status = os.waitpid(child, 0)[1]
if status and not os.WIFSIGNALED(status):
    sys.exit(2)  # the child has said why
shows = status != 0
print("expected an answer, got", "a process that dies" if shows else "one")
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
