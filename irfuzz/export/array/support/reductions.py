# pyright: basic
"""Reductions along axes; floats are summed in float64."""

from __future__ import annotations

import math

import numpy as np

from irfuzz.export.array.support.dtype_conversions import (
    cast,
    doubled,
    highest,
    ints,
    is_real,
    lowest,
    number,
    whole,
    wide,
)
from irfuzz.export.array.support.elementwise import div
from irfuzz.export.size_arithmetic.result_shapes import reduced_axes


def reduced(x, axes, noop):
    """Axes to reduce, as numpy takes them."""
    return tuple(reduced_axes(x.ndim, ints(axes), noop))


def summed(w, x, axes, keepdims, noop):
    """The sum of ``w``, which has the shape of ``x``; ``w`` itself if no axis is reduced."""
    along_axes = reduced(x, axes, noop)
    return np.sum(w, along_axes, keepdims=bool(keepdims), dtype=w.dtype) if along_axes else w


def sums(x):
    """Floats in float64, integers of 64 bits as they are, others in int64."""
    return wide(x) if is_real(x.dtype) or x.dtype == np.uint64 else whole(x)


def reduce_sum(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceSum; integers wrap."""
    return cast(summed(sums(x), x, axes, keepdims, noop), x.dtype)


def reduce_mean(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMean; integers are summed in 64 bits and divided toward zero."""
    if not reduced(x, axes, noop):
        return x
    total = summed(sums(x), x, axes, keepdims, noop)
    count = math.prod(x.shape[axis] for axis in reduced(x, axes, noop))
    if is_real(x.dtype):
        return cast(total / np.float64(count), x.dtype)
    return div(total, np.array(count, total.dtype)).astype(x.dtype)


def reduce_prod(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceProd; integers wrap."""
    w, along_axes = sums(x), reduced(x, axes, noop)
    return cast(np.prod(w, along_axes, keepdims=bool(keepdims), dtype=w.dtype), x.dtype) if along_axes else x


def reduce_max(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMax: NaN wins; -inf or the least integer of nothing."""
    return cast(
        np.max(wide(x), reduced(x, axes, noop), keepdims=bool(keepdims), initial=lowest(x.dtype)),
        x.dtype,
    )


def reduce_min(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMin: NaN wins; +inf or the greatest integer of nothing."""
    return cast(
        np.min(wide(x), reduced(x, axes, noop), keepdims=bool(keepdims), initial=highest(x.dtype)),
        x.dtype,
    )


def reduce_l1(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceL1: the sum of absolute values."""
    return cast(summed(np.abs(sums(x)), x, axes, keepdims, noop), x.dtype)


def reduce_l2(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceL2: the root of the sum of squares, of integers in float64 and toward zero."""
    return cast(np.sqrt(summed(doubled(x) ** 2, x, axes, keepdims, noop)), x.dtype)


def reduce_sum_square(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceSumSquare; integers wrap."""
    return cast(summed(sums(x) * sums(x), x, axes, keepdims, noop), x.dtype)


def reduce_log_sum(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceLogSum: the logarithm of the sum, of integers in float64 and toward zero."""
    return cast(np.log(summed(doubled(x), x, axes, keepdims, noop)), x.dtype)


def reduce_log_sum_exp(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceLogSumExp without overflow; -inf of nothing."""
    w = doubled(x)
    most = np.max(w, reduced(x, axes, noop), keepdims=True, initial=-np.inf)
    most = np.where(np.isfinite(most), most, 0.0)
    kept = most if keepdims else most.reshape(np.sum(w, reduced(x, axes, noop)).shape)
    return cast(np.log(summed(np.exp(w - most), x, axes, keepdims, noop)) + kept, x.dtype)


def arg_max(x, axis=0, keepdims=1, select_last_index=0):
    """ONNX ArgMax: the first or last index of the greatest element, int64; NaN counts as greatest."""
    return extreme(np.argmax, x, axis, keepdims, select_last_index)


def arg_min(x, axis=0, keepdims=1, select_last_index=0):
    """ONNX ArgMin: the first or last index of the least element, int64; NaN counts as least."""
    return extreme(np.argmin, x, axis, keepdims, select_last_index)


def extreme(function, x, axis, keepdims, last):
    """``argmax`` or ``argmin`` from either end of an axis."""
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not last:
        return function(wide(x), axis, keepdims=bool(keepdims)).astype(np.int64)
    back = function(np.flip(wide(x), axis), axis, keepdims=bool(keepdims))
    return (x.shape[axis] - 1 - back).astype(np.int64)


def cum_sum(x, axis, exclusive=0, reverse=0):
    """ONNX CumSum along ``axis``; integers wrap."""
    return running(np.cumsum, x, number(axis), 0, exclusive, reverse)


def cum_prod(x, axis, exclusive=0, reverse=0):
    """ONNX CumProd along ``axis``; integers wrap."""
    return running(np.cumprod, x, number(axis), 1, exclusive, reverse)


def running(function, x, axis, start, exclusive, reverse):
    """A cumulative ``function`` from either end; ``exclusive`` leaves out the element itself."""
    w = np.moveaxis(sums(x), axis, 0)
    w = w[::-1] if reverse else w
    if exclusive:
        w = np.concatenate([np.full_like(w[:1], start), w[:-1]])
    result = function(w, 0)
    return cast(np.moveaxis(result[::-1] if reverse else result, 0, axis), x.dtype)
