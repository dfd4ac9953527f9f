# pyright: basic
"""Convolutions and pools by sliding windows; sums are of float64."""

from __future__ import annotations

import itertools
import math

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, doubled, is_real, lowest, wide
from irfuzz.export.size_arithmetic.window_sizes import pool_geometry, transposed_crops, window_pads, window_room


def framed(x, around, value):
    """``x`` (N, C, *sizes) with a frame of ``value``, or without what negative margins cut off."""
    inner = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape[2:], around, strict=True))
    frame = [(0, 0), (0, 0), *((max(a, 0), max(b, 0)) for a, b in around)]
    return np.pad(x[(slice(None), slice(None), *inner)], frame, constant_values=value)


def taps(x, kernel, strides, dilations, counts):
    """For each place of a kernel, in row-major order, the elements that it meets: (N, C, *counts) of (N, C, *sizes)."""
    for place in itertools.product(*map(range, kernel)):
        at = tuple(
            slice(p * gap, p * gap + step * (n - 1) + 1, step) if n else slice(0, 0)
            for p, gap, step, n in zip(place, dilations, strides, counts, strict=True)
        )
        yield x[(slice(None), slice(None), *at)]


def fitting(x, kernel, strides, dilations):
    """How many windows fit into each spatial axis."""
    return [
        max((n - gap * (k - 1) - 1) // step + 1, 0)
        for n, k, step, gap in zip(x.shape[2:], kernel, strides, dilations, strict=True)
    ]


def conv(x, w, b=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1):
    """ONNX Conv on (N, C, *sizes)."""
    kernel = w.shape[2:]
    strides, dilations = strides or (1,) * len(kernel), dilations or (1,) * len(kernel)
    around = window_pads(x.shape[2:], kernel, strides, dilations, pads, auto_pad)
    data = framed(wide(x), around, 0)
    counts = fitting(data, kernel, strides, dilations)
    n, c = x.shape[:2]
    columns = np.stack(list(taps(data, kernel, strides, dilations, counts)), 2)
    columns = columns.reshape((n, group, c // group * columns.shape[2], math.prod(counts)))
    filters = wide(w).reshape((group, w.shape[0] // group, -1)) if w.size else np.zeros((group, w.shape[0] // group, 0))
    result = np.matmul(filters, columns).reshape((n, w.shape[0], *counts))
    if b is not None:
        result = result + wide(b).reshape((-1, *[1] * len(kernel)))
    return cast(result, x.dtype)


def laid_down(room, dtype, kernel, steps, gaps, counts, columns):
    """An array of the shape ``room`` to which the elements ``columns(place)`` are added for each place of a kernel.

    They fall where that place is each time that the kernel is laid down, ``counts`` times along the spatial axes, which
    are all of ``room`` but the first two.
    """
    canvas = np.zeros(room, dtype)
    for place, spots in enumerate(taps(canvas, kernel, steps, gaps, counts)):
        spots += columns(place).reshape(spots.shape).astype(dtype)
    return canvas


def conv_transpose(
    x, w, b=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1,
    output_padding=None, output_shape=None,
):  # fmt: skip
    """ONNX ConvTranspose: every element of x lays its filter down, then margins are cut off or added."""
    kernel, sizes = w.shape[2:], x.shape[2:]
    rank = len(kernel)
    strides, dilations, extra = strides or (1,) * rank, dilations or (1,) * rank, output_padding or (0,) * rank
    n, c = x.shape[:2]
    each_group = w.shape[1]
    reach = [
        (s - 1) * step + gap * (k - 1) + 1 for s, step, gap, k in zip(sizes, strides, dilations, kernel, strict=True)
    ]
    data = wide(x).reshape((n, group, c // group, math.prod(sizes)))
    filters = wide(w).reshape((group, c // group, each_group, math.prod(kernel)))
    canvas = laid_down(
        (n, group * each_group, *reach), np.float64, kernel, strides, dilations, sizes,
        lambda place: np.einsum("ngcp,gco->ngop", data, filters[..., place]),
    )  # fmt: skip
    around = transposed_crops(reach, sizes, strides, pads, auto_pad, extra, output_shape)
    result = framed(canvas, around, 0)
    if b is not None:
        result = result + wide(b).reshape((-1, *[1] * rank))
    return cast(result, x.dtype)


def integer_conv(x, w, x_zero, w_zero, **how):
    """Convolution of (x - x_zero) and (w - w_zero), whose sums of 8-bit products are exact in float64."""
    data = doubled(x) - (0 if x_zero is None else doubled(x_zero))
    filters = doubled(w) - (0 if w_zero is None else doubled(w_zero).reshape((-1, *[1] * (w.ndim - 1))))
    return conv(data, filters, **how)


def conv_integer(x, w, x_zero=None, w_zero=None, **how):
    """ONNX ConvInteger; the int32 result wraps."""
    return integer_conv(x, w, x_zero, w_zero, **how).astype(np.int64).astype(np.int32)


def pooled(x, kernel, strides, dilations, pads, auto_pad, ceil_mode, value):
    """The elements of all windows as (taps, N, C, *counts), what is outside of x being ``value``."""
    strides, dilations, around, counts = pool_geometry(
        x.shape[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode
    )
    room = window_room(x.shape[2:], kernel, strides, dilations, around, counts)
    return np.stack(list(taps(framed(x, room, value), kernel, strides, dilations, counts)))


def max_pool(x, kernel_shape, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0):
    """ONNX MaxPool; the frame never wins, NaN does."""
    return np.max(pooled(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode, lowest(x.dtype)), 0)


def max_pool_indices(
    x, kernel_shape, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, storage_order=0
):
    """ONNX MaxPool with Indices: places in the flattened x, column-major inside an image by ``storage_order``."""
    how = (kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    values = pooled(x, *how, lowest(x.dtype))
    inside = np.arange(math.prod(x.shape[2:])).reshape(x.shape[2:], order="F" if storage_order else "C")
    images = np.arange(math.prod(x.shape[:2])).reshape((*x.shape[:2], *[1] * len(kernel_shape)))
    places = pooled(images * inside.size + inside, *how, -1)
    best = np.max(values, 0)
    wins = (values == best) | (np.isnan(values) if is_real(x.dtype) else False)
    first = np.argmax(wins & (places >= 0), 0)
    return best, np.take_along_axis(places, first[None], 0)[0].astype(np.int64)


def average_pool(
    x, kernel_shape, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0
):
    """ONNX AveragePool; the divisor counts x and, if asked, the pads, never what hangs over by ceil_mode."""
    how = (kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    total = np.sum(pooled(wide(x), *how, 0), 0)
    ones = np.ones((1, 1, *x.shape[2:]))
    if count_include_pad:
        rank = len(kernel_shape)
        around = window_pads(
            x.shape[2:], kernel_shape, strides or (1,) * rank, dilations or (1,) * rank, pads, auto_pad
        )
        ones = framed(ones, around, 1)
        how = (kernel_shape, strides, dilations, None, "NOTSET", ceil_mode and auto_pad == "NOTSET")
    counted = np.sum(pooled(ones, *how, 0), 0)
    return cast(total / counted[(..., *(slice(n) for n in total.shape[2:]))], x.dtype)


def lp_pool(x, kernel_shape, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, p=2):
    """ONNX LpPool: (sum of |x|**p) ** (1/p) over each window."""
    windows = pooled(wide(x), kernel_shape, strides, dilations, pads, auto_pad, ceil_mode, 0)
    return cast(power_mean(windows, p, 0), x.dtype)


def power_mean(w, p, axes, keepdims=False):
    """(sum of |w|**p) ** (1/p) along ``axes``."""
    return np.sum(np.abs(w) ** p, axes, keepdims=keepdims) ** (1 / p)


def spatial(x):
    """The axes of an image behind its channels."""
    return tuple(range(2, x.ndim))


def global_average_pool(x):
    """ONNX GlobalAveragePool: the mean over all axes after the second, kept with size 1."""
    return cast(np.mean(wide(x), spatial(x), keepdims=True), x.dtype)


def global_max_pool(x):
    """ONNX GlobalMaxPool."""
    return np.max(x, spatial(x), keepdims=True)


def global_lp_pool(x, p=2):
    """ONNX GlobalLpPool."""
    return cast(power_mean(wide(x), p, spatial(x), keepdims=True), x.dtype)
