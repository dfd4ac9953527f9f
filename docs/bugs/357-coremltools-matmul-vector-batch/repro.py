"""coremltools 9.0: a product of a vector and a batch of matrices loses the batch

Seen with coremltools 9.0; needs numpy, torch, coremltools. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: `torch.matmul`: "If the first argument is 1-dimensional, a 1 is prepended to its dimension for the purpose of the batched matrix
multiply and removed after."
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import torch
import coremltools as ct
inputs = {'x': np.array([1, 2], 'float32'), 'w': np.ones((2, 2, 3), 'float32')}
class Product(torch.nn.Module):
    def forward(self, x, w):
        return torch.matmul(x, w)
arguments = tuple(map(torch.from_numpy, inputs.values()))
program = torch.export.export(Product().eval(), arguments).run_decompositions({})
made = ct.convert(program, convert_to="milinternal", minimum_deployment_target=ct.target.iOS18)
got, expected = tuple(made.functions["main"].outputs[0].shape), tuple(Product()(*arguments).shape)
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
