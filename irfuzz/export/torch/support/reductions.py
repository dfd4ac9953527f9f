# pyright: basic
"""Reductions along axes."""

from __future__ import annotations

import torch

from irfuzz.export.size_arithmetic.result_shapes import reduced_axes
from irfuzz.export.torch.support.dtype_conversions import (
    cast,
    divide_int,
    exact_int,
    highest,
    lowest,
    ordered,
    single,
    unordered,
)


def total(x, axes, keepdims):
    """Sum along ``axes``; no axes leave x as it is (torch would take all)."""
    return x.sum(axes, bool(keepdims), dtype=x.dtype) if axes else x


def real(x):
    """``x`` in a floating type for roots and logarithms: half types as float32, integers as float64."""
    return single(x) if x.dtype.is_floating_point else x.double()


def reduce_sum(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceSum; integers wrap."""
    axes = reduced_axes(x.dim(), axes, noop)
    if x.dtype.is_floating_point:
        return total(single(x), axes, keepdims).to(x.dtype)
    return total(exact_int(x), axes, keepdims).to(x.dtype)


def reduce_mean(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMean; integers are summed in 64 bits and divided toward zero."""
    axes = reduced_axes(x.dim(), axes, noop)
    if not axes:
        return x
    if x.dtype.is_floating_point:
        return single(x).mean(axes, bool(keepdims)).to(x.dtype)
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    summed = total(exact_int(x), axes, keepdims)
    if x.dtype == torch.uint64:
        return divide_int(summed.to(x.dtype), torch.tensor(count, dtype=x.dtype))
    return torch.div(summed, count, rounding_mode="trunc").to(x.dtype)


def reduce_prod(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceProd; integers wrap."""
    result = single(x) if x.dtype.is_floating_point else exact_int(x)
    for axis in sorted(reduced_axes(x.dim(), axes, noop), reverse=True):
        result = result.prod(axis, bool(keepdims))
    return result.to(x.dtype)


def reduce_max(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMax: NaN wins; -inf or the least integer of nothing."""
    axes = reduced_axes(x.dim(), axes, noop)
    if not axes:
        return x
    if any(x.shape[a] == 0 for a in axes):
        return reduced_nothing(x, axes, keepdims, lowest(x.dtype))
    return unordered(ordered(x).amax(axes, bool(keepdims)), x.dtype)


def reduce_min(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMin: NaN wins; +inf or the greatest integer of nothing."""
    axes = reduced_axes(x.dim(), axes, noop)
    if not axes:
        return x
    if any(x.shape[a] == 0 for a in axes):
        return reduced_nothing(x, axes, keepdims, highest(x.dtype))
    return unordered(ordered(x).amin(axes, bool(keepdims)), x.dtype)


def reduced_nothing(x, axes, keepdims, value):
    """The reduction of empty ``axes``: ``value`` everywhere."""
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return torch.tensor(value, dtype=x.dtype).expand(shape).clone()


def reduce_l1(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceL1: the sum of absolute values."""
    axes = reduced_axes(x.dim(), axes, noop)
    if x.dtype.is_floating_point:
        return total(single(x).abs(), axes, keepdims).to(x.dtype)
    whole = exact_int(x)
    return total(whole if x.dtype == torch.uint64 else whole.abs(), axes, keepdims).to(x.dtype)


def reduce_l2(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceL2: the root of the sum of squares, of integers in float64 and toward zero."""
    w = real(x)
    return cast(torch.sqrt(total(w * w, reduced_axes(x.dim(), axes, noop), keepdims)), x.dtype)


def reduce_sum_square(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceSumSquare; integers wrap."""
    w = single(x) if x.dtype.is_floating_point else exact_int(x)
    return total(w * w, reduced_axes(x.dim(), axes, noop), keepdims).to(x.dtype)


def reduce_log_sum(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceLogSum: the logarithm of the sum, of integers in float64 and toward zero."""
    return cast(torch.log(total(real(x), reduced_axes(x.dim(), axes, noop), keepdims)), x.dtype)


def reduce_log_sum_exp(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceLogSumExp without overflow, of integers in float64 and toward zero; -inf of nothing."""
    axes = reduced_axes(x.dim(), axes, noop)
    w = real(x)
    return cast(torch.logsumexp(w, axes, bool(keepdims)) if axes else torch.log(torch.exp(w)), x.dtype)


def arg_max(x, axis=0, keepdims=1, select_last_index=0):
    """ONNX ArgMax: the first or last index of the greatest element, int64; NaN counts as greatest."""
    return arg_best(ordered(x).amax(axis, keepdim=True), x, axis, keepdims, select_last_index)


def arg_min(x, axis=0, keepdims=1, select_last_index=0):
    """ONNX ArgMin: the first or last index of the least element, int64; NaN counts as least."""
    return arg_best(ordered(x).amin(axis, keepdim=True), x, axis, keepdims, select_last_index)


def arg_best(best, x, axis, keepdims, select_last_index):
    """The first or last index along ``axis`` at which ``x`` is ``best`` (or NaN if that is NaN)."""
    at = ordered(x) == best
    if x.dtype.is_floating_point:
        at = at | (torch.isnan(x) & torch.isnan(best))
    if x.dim() == 0:
        return torch.zeros((), dtype=torch.int64)
    places = torch.arange(x.shape[axis]).reshape(-1, *(1,) * (x.dim() - 1 - axis % x.dim()))
    found = torch.where(at, places, -1 if select_last_index else x.shape[axis])
    return found.amax(axis, bool(keepdims)) if select_last_index else found.amin(axis, bool(keepdims))


def cum_sum(x, axis, exclusive=0, reverse=0):
    """ONNX CumSum along ``axis``; integers wrap."""
    w = single(x) if x.dtype.is_floating_point else exact_int(x)
    return running(torch.cumsum, w, int(axis), 0, exclusive, reverse).to(x.dtype)


def cum_prod(x, axis, exclusive=0, reverse=0):
    """ONNX CumProd along ``axis``; integers wrap."""
    w = single(x) if x.dtype.is_floating_point else exact_int(x)
    return running(torch.cumprod, w, int(axis), 1, exclusive, reverse).to(x.dtype)


def running(function, x, axis, start, exclusive, reverse):
    """A cumulative ``function`` from either end; ``exclusive`` begins with ``start`` and drops the last element."""
    if reverse:
        x = x.flip(axis)
    if exclusive and x.shape[axis]:
        first = torch.full_like(x.narrow(axis, 0, 1), start)
        x = torch.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    result = function(x, axis)
    return result.flip(axis) if reverse else result
