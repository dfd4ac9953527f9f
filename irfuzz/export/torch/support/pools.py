# pyright: basic
"""Pooling of images."""

from __future__ import annotations

import math

import torch

from irfuzz.export.size_arithmetic.window_sizes import pool_geometry
from irfuzz.export.torch.support.numbers import lowest, single
from irfuzz.export.torch.support.windows import pool_windows


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
