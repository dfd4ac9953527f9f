"""coremltools 9.0: a product with a vector on the right raises

Seen with coremltools 9.0; needs numpy, torch, coremltools. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: `torch.matmul`: "If both tensors are 1-dimensional, the dot product (scalar) is returned."
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import torch
import coremltools as ct
inputs = {'x': np.array([1, 2, 3], 'float32'), 'w': np.array([1, 0, 2], 'float32')}
class Product(torch.nn.Module):
    def forward(self, x, w):
        return torch.matmul(x, w)
program = torch.export.export(Product().eval(), tuple(map(torch.from_numpy, inputs.values()))).run_decompositions({})
try:
    made = ct.convert(program, convert_to="milinternal", minimum_deployment_target=ct.target.iOS18)
    print("got", made.functions["main"].outputs)
    shows = False
except Exception as error:
    print("expected a program, got", type(error).__name__, error)
    shows = "list index out of range" in str(error)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
