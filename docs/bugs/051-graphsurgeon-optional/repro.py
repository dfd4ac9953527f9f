"""onnx-graphsurgeon 0.6.1: import of a model with an optional input raises

Seen with onnx-graphsurgeon 0.6.1, reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx, onnx-graphsurgeon, onnxruntime. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: OptionalGetElement-15: "Outputs the element in the optional-type input."; a graph's input may have any type.
  https://onnx.ai/onnx/operators/onnx__OptionalGetElement.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import base64, zlib
import onnx_graphsurgeon as gs
import onnxruntime as ort

inputs = {'x': np.array([1.0, -2.0], 'float32')}
model = zlib.decompress(base64.b64decode(
    "eNrj4LBy5ZLiYqwQYqxUEvIvKMnMz0vMcU8tcc1JzU3NKxFiTI8SBknzefFwcXFxcDAKsXAxcTAl8XMxVgohCTixcDEICAIAlpkNKw=="))
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
def run():
    proto = onnx.load_model_from_string(model)
    session = ort.InferenceSession(gs.export_onnx(gs.import_onnx(proto).cleanup().toposort()).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(['y'], {value.name: inputs[value.name] for value in session.get_inputs()})[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
