"""torch 2.13.0, TorchScript exporter: `//` of negative integers is exported as a division that rounds towards 0

Seen with torch 2.13.0, onnxruntime 1.32.0; needs numpy, onnx, onnxruntime, torch. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: PyTorch's documentation of `torch.floor_divide`, which is what `//` of tensors calls: "Computes input divided by other,
elementwise, and floors the result". The model below is what that is in ONNX.
"""
import os, sys, io
import warnings

sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnxruntime as ort
import torch

inputs = {'a': np.array([-7, 7]), 'b': np.array([2, -2])}

class Divide(torch.nn.Module):
    def forward(self, a, b):
        return a // b

warnings.filterwarnings("ignore")
tensors = tuple(map(torch.from_numpy, inputs.values()))
expected = Divide()(*tensors).numpy()
written = io.BytesIO()
torch.onnx.export(Divide(), tensors, written, input_names=list(inputs), opset_version=17, dynamo=False)
got = ort.InferenceSession(written.getvalue(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]
print("expected", expected.tolist(), "got", got.tolist())
shows = not np.array_equal(got, expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
