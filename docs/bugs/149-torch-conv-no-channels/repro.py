"""torch 2.13.0: a convolution of no input channels has no output channels

Seen with torch 2.13.0+cpu; needs numpy, torch. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: `torch.nn.functional.conv2d`: the weight is (out_channels, in_channels / groups, kH, kW), and the output has out_channels; Conv-1
says the same. A sum over nothing is 0.
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import torch

inputs = {'x': np.zeros((1, 0, 1, 1), 'float32')}
def forward(x0):
    t1 = torch.nn.functional.conv2d(x0, x0, None, (1, 1), [0, 0], (1, 1), 1)
    return t1,
tensors = tuple(map(torch.from_numpy, inputs.values()))
run = lambda: forward(*tensors)[0].numpy()
got = run()
got = "a sequence" if isinstance(got, list) else "{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))
expected = 'float32[1, 1, 1, 1]'
print("expected", expected, "got", got)
shows = got != expected
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
