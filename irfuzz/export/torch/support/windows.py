# pyright: basic
"""Sliding windows of convolutions and pools: sizes and paddings enter, resolved paddings and views leave."""

from __future__ import annotations

import torch


def window_pads(sizes, kernel, strides, dilations, pads, auto_pad):
    """Padding of each spatial axis as (before, after), from ``pads`` or ``auto_pad``.

    SAME_UPPER and SAME_LOWER give ceil(size / stride) windows; an odd pad falls at the end or the beginning.
    """
    rank = len(sizes)
    if auto_pad == "VALID":
        return [(0, 0)] * rank
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        result = []
        for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
            total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            small, large = total // 2, total - total // 2
            result.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
        return result
    return [(pads[i], pads[i + rank]) for i in range(rank)] if pads else [(0, 0)] * rank


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


def pool_count(size, before, after, kernel, stride, dilation, ceil_mode):
    """How many windows fit; with ``ceil_mode`` one that starts inside the input or its front padding may overhang."""
    room = size + before + after - (dilation * (kernel - 1) + 1)
    if not ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= size + before else count


def pool_windows(x, kernel, strides, dilations, pads, counts, value):
    """Views of all windows of ``x`` (N, C, *sizes) as (N, C, *counts, *kernel), outside filled with ``value``."""
    rank = len(kernel)
    full = []
    for i in range(rank):
        reach = (counts[i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1
        full.append((pads[i][0], reach - x.shape[i + 2] - pads[i][0]))
    x = pad_spatial(x, full, value)
    for i in range(rank):
        x = x.unfold(i + 2, dilations[i] * (kernel[i] - 1) + 1, strides[i])
    for i in range(rank):
        x = x[(..., slice(None, None, dilations[i]), *(slice(None),) * (rank - 1 - i))]
    return x
