"""onnx 1.23.2, reference evaluator: default values of the attributes of a function are not used

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: FunctionProto, `attribute_proto`: "It is for function attributes with default values"; a call may leave them out.
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import base64, zlib
from onnx.reference import ReferenceEvaluator

inputs = {'x': np.array([1.0, 2.0], 'float32')}
model = zlib.decompress(base64.b64decode(
    "eNrj4LSy4hLnYqwQYqxU4nArzUsuyczPs2LNyU9OzBFiTI/iB8lxcXFwMAqxcDFxMCVxczFWCrFxsQAFGJxYuBgEBJ04uSDqBRhPMcZywU1RYkzUYkyy0uViTBRiTFLiDEpNKU1O9U2s0JLg4shOTS1IycwtXsDI"
    "tIoRzrNi8AIbGQQxEGg7XEqCAagUAFfcJ78="))
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
shows, got = False, None
try:
    got = run()
except Exception as error:
    shows, got = True, f"{type(error).__name__}: {error}"
print("expected an answer, got", got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
