# pyright: basic
"""Casts to another element type, rounded once, to nearest, ties to even."""

from __future__ import annotations

import torch

HALVES = (torch.float16, torch.bfloat16)


def cast(x, dtype):
    """ONNX Cast: truncation from float to integer, wrapping between integers, one rounding to nearest even to float.

    Out-of-range float to integer is undefined in ONNX and left to torch.
    """
    if x.dtype == dtype:
        return x
    if dtype in HALVES and x.dtype != torch.bool and x.dtype not in HALVES and x.dtype != torch.float32:
        # torch goes through float32 and so rounds twice; make the first rounding harmless.
        return odd_single(x).to(dtype)
    if dtype == torch.bool:
        return x != 0
    return x.to(dtype)


def odd_single(x):
    """float64 or integers as float32 rounded to odd, so that a further rounding to a half type is right."""
    if not x.dtype.is_floating_point:
        x = sticky_double(x)
    nearest = x.float()
    back = nearest.double()
    low = nearest.view(torch.int32) & 1
    most = torch.finfo(
        torch.float32
    ).max  # whose own last bit is set; an infinity here would look like one of the program's
    toward = torch.where(x > back, most, -most).float()
    inexact = (back != x) & torch.isfinite(x) & (low == 0)
    odd = torch.nextafter(nearest, toward)
    return torch.where(inexact & torch.isfinite(nearest), odd, nearest)


def sticky_double(x):
    """Integers as float64; beyond 2**53 the lowest bit kept says whether lower ones were lost."""
    if x.dtype == torch.uint64:
        raw = x.view(torch.int64)
        upper = ((raw >> 11) & (2**53 - 1)) | ((raw & 2047) != 0).to(torch.int64)
        return torch.where(raw >= 0, sticky_double(raw & (2**63 - 1)), upper.double() * 2048)
    x = x.to(torch.int64)
    small = (x < 2**53) & (x > -(2**53))
    upper = (x >> 11) | ((x & 2047) != 0).to(torch.int64)
    return torch.where(small, x.double(), upper.double() * 2048)
