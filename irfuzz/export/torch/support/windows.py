# pyright: basic
"""Sliding windows of convolutions and pools: resolves paddings and makes views."""

from __future__ import annotations

import torch

from irfuzz.export.size_arithmetic.window_sizes import window_room


def pad_spatial(x, pads, value):
    """``x`` (N, C, *sizes) padded with ``value`` by (before, after) for each spatial axis; negative pads crop."""
    for axis, (before, after) in enumerate(pads, start=2):
        if before < 0 or after < 0:
            x = x.narrow(axis, max(-before, 0), x.shape[axis] - max(-before, 0) - max(-after, 0))
        for amount, at_front in ((before, True), (after, False)):
            if amount > 0:
                shape = list(x.shape)
                shape[axis] = amount
                edge = torch.full(shape, value, dtype=x.dtype, device=x.device)
                x = torch.cat([edge, x] if at_front else [x, edge], axis)
    return x


def pool_windows(x, kernel, strides, dilations, pads, counts, value):
    """Views of all windows of ``x`` (N, C, *sizes) as (N, C, *counts, *kernel), outside filled with ``value``."""
    rank = len(kernel)
    x = pad_spatial(x, window_room(x.shape[2:], kernel, strides, dilations, pads, counts), value)
    for i in range(rank):
        x = x.unfold(i + 2, dilations[i] * (kernel[i] - 1) + 1, strides[i])
    for i in range(rank):
        x = x[(..., slice(None, None, dilations[i]), *(slice(None),) * (rank - 1 - i))]
    return x
