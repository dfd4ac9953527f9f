# pyright: basic
"""Converts numpy arrays to tensors and back."""

from __future__ import annotations

import numpy as np
import torch


def to_tensor(value, dtype):
    """A tensor of ``dtype`` from an array; bfloat16 may come as its uint16 bit pattern. Sequences are lists."""
    if value is None or isinstance(value, torch.Tensor):
        return value
    if isinstance(value, list | tuple):
        return [to_tensor(v, dtype) for v in value]
    array = np.asarray(value)
    if dtype == torch.bfloat16:
        bits = np.array(array).view(np.uint16).reshape(array.shape)
        return torch.from_numpy(bits).view(torch.bfloat16)
    # A copy: torch must not write into the caller's memory, and refuses byte-swapped or read-only arrays.
    tensor = torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("=")))
    if tensor.dtype != dtype:
        raise TypeError(f"expected an array of {dtype}, got {array.dtype}")
    return tensor


def to_array(value):
    """An array from a tensor; bfloat16 becomes ml_dtypes.bfloat16, or its uint16 bit pattern without that package."""
    if value is None:
        return None
    if isinstance(value, list):
        return [to_array(v) for v in value]
    value = value.detach().cpu().contiguous()
    if value.dtype != torch.bfloat16:
        return value.numpy()
    bits = value.view(torch.uint16).numpy()
    try:
        import ml_dtypes
    except ImportError:
        return bits
    return bits.view(ml_dtypes.bfloat16)


def ints(tensor):
    """The elements of an integer tensor as a tuple."""
    return tuple(tensor.reshape(-1).tolist())
