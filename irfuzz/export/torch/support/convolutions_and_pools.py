# pyright: basic
"""Sliding windows over images: paddings and views of windows, and the convolutions and pools made of them."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812 - as torch's own documentation calls it

from irfuzz.export.size_arithmetic.window_sizes import pool_geometry, transposed_crops, window_pads, window_room
from irfuzz.export.torch.support.dtype_conversions import lowest, single


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


def conv(x, w, b=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1):
    """ONNX Conv on (N, C, *sizes) with one to three spatial axes; half types are computed in float32."""
    rank = x.dim() - 2
    if rank not in (1, 2, 3):
        raise NotImplementedError(f"torch convolves 1 to 3 spatial axes, not {rank}")
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    around = window_pads(x.shape[2:], w.shape[2:], strides, dilations, pads, auto_pad)
    symmetric = all(before == after for before, after in around)
    data = single(x) if symmetric else pad_spatial(single(x), around, 0)
    padding = [before for before, _ in around] if symmetric else 0
    convolve = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    bias = None if b is None else single(b)
    return convolve(data, single(w), bias, strides, padding, dilations, group).to(x.dtype)


def conv_transpose(
    x, w, b=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1,
    output_padding=None, output_shape=None,
):  # fmt: skip
    """ONNX ConvTranspose: the full transposed convolution, then cropped or extended by pads and output_padding."""
    rank = x.dim() - 2
    if rank not in (1, 2, 3):
        raise NotImplementedError(f"torch convolves 1 to 3 spatial axes, not {rank}")
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    extra = output_padding or (0,) * rank
    convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    full = convolve(single(x), single(w), None, strides, 0, 0, group, dilations)
    crops = transposed_crops(full.shape[2:], x.shape[2:], strides, pads, auto_pad, extra, output_shape)
    result = pad_spatial(full, crops, 0)
    if b is not None:
        result = result + single(b).reshape(-1, *(1,) * rank)
    return result.to(x.dtype)


def conv_integer(x, w, x_zero=None, w_zero=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1):
    """ONNX ConvInteger. Sums of 8-bit products are exact in float64; the int32 result wraps."""
    sums = integer_conv(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, group)
    return sums.to(torch.int64).to(torch.int32)


def integer_conv(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, group):
    """Convolution of (x - x_zero) and (w - w_zero) as exact integers in float64."""
    data = x.double() - (0 if x_zero is None else x_zero.double())
    weights = w.double()
    if w_zero is not None:
        weights = weights - w_zero.double().reshape(-1, *(1,) * (w.dim() - 1))
    return conv(data, weights, None, strides, dilations, pads, auto_pad, group)


def max_pool(x, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0):
    """ONNX MaxPool; padding never wins, NaN does."""
    geometry = pool_geometry(x.shape[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    windows = pool_windows(x, kernel, *geometry, lowest(x.dtype))
    return windows.amax(tuple(range(-len(kernel), 0)))


def max_pool_indices(
    x, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, storage_order=0
):
    """ONNX MaxPool with Indices: positions in the flattened unpadded input, column-major by ``storage_order``."""
    rank = len(kernel)
    geometry = pool_geometry(x.shape[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    windows = pool_windows(x, kernel, *geometry, lowest(x.dtype)).flatten(-rank)
    spatial = x.shape[2:]
    places = torch.arange(math.prod(spatial)).reshape(spatial)
    if storage_order:
        places = torch.arange(math.prod(spatial)).reshape(tuple(reversed(spatial))).permute(*reversed(range(rank)))
    images = torch.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2] + (1,) * rank) * math.prod(spatial)
    index = pool_windows(places + images, kernel, *geometry, -1).flatten(-rank)
    # Among equals the first real element wins, not padding that happens to equal it.
    best = windows.amax(-1, keepdim=True)
    wins = ((windows == best) | (torch.isnan(windows) if x.dtype.is_floating_point else False)) & (index >= 0)
    at = wins.to(torch.int8).argmax(-1, keepdim=True)
    return best.squeeze(-1), index.gather(-1, at).squeeze(-1)


def average_pool(
    x, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0
):
    """ONNX AveragePool; the divisor counts input and, if asked, padding, never the overhang of ceil_mode."""
    rank = len(kernel)
    geometry = pool_geometry(x.shape[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    axes = tuple(range(-rank, 0))
    sums = pool_windows(single(x), kernel, *geometry, 0).sum(axes)
    strides, dilations, around, counts = geometry
    ones = torch.ones((1, 1, *x.shape[2:]), dtype=sums.dtype)
    if count_include_pad:
        sizes = [x.shape[i + 2] + sum(around[i]) for i in range(rank)]
        ones = torch.ones((1, 1, *sizes), dtype=sums.dtype)
        around = [(0, 0)] * rank
    divisor = pool_windows(ones, kernel, strides, dilations, around, counts, 0).sum(axes)
    return (sums / divisor).to(x.dtype)


def lp_pool(x, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, p=2):
    """ONNX LpPool: (sum of |x|**p) ** (1/p) over each window."""
    geometry = pool_geometry(x.shape[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    windows = pool_windows(single(x), kernel, *geometry, 0)
    return lp_norm(windows, p, tuple(range(-len(kernel), 0)), keepdim=False).to(x.dtype)


def lp_norm(x, p, axes, keepdim):
    """(sum of |x|**p) ** (1/p) along ``axes``."""
    if p == 1:
        return x.abs().sum(axes, keepdim)
    if p == 2:
        return (x * x).sum(axes, keepdim).sqrt()
    return x.abs().pow(p).sum(axes, keepdim).pow(1 / p)


def global_average_pool(x):
    """ONNX GlobalAveragePool: the mean over all axes after the second, kept with size 1."""
    return x if x.dim() == 2 else single(x).mean(tuple(range(2, x.dim())), keepdim=True).to(x.dtype)


def global_max_pool(x):
    """ONNX GlobalMaxPool."""
    return x if x.dim() == 2 else x.amax(tuple(range(2, x.dim())), keepdim=True)


def global_lp_pool(x, p):
    """ONNX GlobalLpPool."""
    return x.abs() if x.dim() == 2 else lp_norm(single(x), p, tuple(range(2, x.dim())), keepdim=True).to(x.dtype)
