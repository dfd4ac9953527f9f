# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Reductions along axes."""

from __future__ import annotations

import math

import tensorflow as tf

from irfuzz.export.size_arithmetic.result_shapes import reduced_axes
from irfuzz.export.tensorflow.support.array_tensor_conversion import dims, known
from irfuzz.export.tensorflow.support.dtype_conversions import cast, exact_int, single
from irfuzz.export.tensorflow.support.matrix_products import widened


def total(x, axes, keepdims):
    """Sum along ``axes``."""
    return tf.reduce_sum(x, axes, bool(keepdims))


def real(x):
    """``x`` in a floating type for roots and logarithms: half types as float32, integers as float64."""
    return single(x) if x.dtype.is_floating else tf.cast(x, tf.float64)


def reduce_sum(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceSum; integers wrap."""
    return tf.cast(total(widened(x), reduced_axes(len(x.shape), axes, noop), keepdims), x.dtype)


def reduce_mean(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMean; integers are summed in 64 bits and divided toward zero."""
    axes = reduced_axes(len(x.shape), axes, noop)
    if not axes:
        return x
    if x.dtype.is_floating:
        return tf.cast(tf.reduce_mean(single(x), axes, bool(keepdims)), x.dtype)
    shape, kind = dims(x), tf.uint64 if x.dtype == tf.uint64 else tf.int64
    count = tf.cast(math.prod(shape[a] for a in axes), kind)
    return tf.cast(tf.truncatediv(tf.cast(total(exact_int(x), axes, keepdims), kind), count), x.dtype)


def reduce_prod(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceProd; integers wrap."""
    return tf.cast(tf.reduce_prod(widened(x), reduced_axes(len(x.shape), axes, noop), bool(keepdims)), x.dtype)


def reduce_max(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMax: NaN wins; -inf or the least integer of nothing."""
    if x.dtype == tf.bool:
        return tf.reduce_any(x, reduced_axes(len(x.shape), axes, noop), bool(keepdims))
    return tf.reduce_max(x, reduced_axes(len(x.shape), axes, noop), bool(keepdims))


def reduce_min(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceMin: NaN wins; +inf or the greatest integer of nothing."""
    if x.dtype == tf.bool:
        return tf.reduce_all(x, reduced_axes(len(x.shape), axes, noop), bool(keepdims))
    return tf.reduce_min(x, reduced_axes(len(x.shape), axes, noop), bool(keepdims))


def reduce_l1(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceL1: the sum of absolute values."""
    w = widened(x)
    return tf.cast(
        total(w if x.dtype.is_unsigned else tf.abs(w), reduced_axes(len(x.shape), axes, noop), keepdims), x.dtype
    )


def reduce_l2(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceL2: the root of the sum of squares, of integers in float64 and toward zero."""
    w = real(x)
    return cast(tf.sqrt(total(w * w, reduced_axes(len(x.shape), axes, noop), keepdims)), x.dtype)


def reduce_sum_square(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceSumSquare; integers wrap."""
    w = widened(x)
    return tf.cast(total(w * w, reduced_axes(len(x.shape), axes, noop), keepdims), x.dtype)


def reduce_log_sum(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceLogSum: the logarithm of the sum, of integers in float64 and toward zero."""
    return cast(tf.math.log(total(real(x), reduced_axes(len(x.shape), axes, noop), keepdims)), x.dtype)


def reduce_log_sum_exp(x, axes=None, keepdims=1, noop=0):
    """ONNX ReduceLogSumExp without overflow, of integers in float64 and toward zero; -inf of nothing."""
    axes = reduced_axes(len(x.shape), axes, noop)
    w = real(x)
    return cast(tf.reduce_logsumexp(w, axes, bool(keepdims)) if axes else tf.math.log(tf.exp(w)), x.dtype)


def arg_max(x, axis=0, keepdims=1, select_last_index=0):
    """ONNX ArgMax: the first or last index of the greatest element, int64; NaN counts as greatest."""
    return arg_best(tf.reduce_max, x, axis, keepdims, select_last_index)


def arg_min(x, axis=0, keepdims=1, select_last_index=0):
    """ONNX ArgMin: the first or last index of the least element, int64; NaN counts as least."""
    return arg_best(tf.reduce_min, x, axis, keepdims, select_last_index)


def arg_best(reduction, x, axis, keepdims, select_last_index):
    """The first or last index along ``axis`` at which ``x`` is its ``reduction`` (or NaN if that is NaN)."""
    rank = len(x.shape)
    if rank == 0:
        return tf.zeros([], tf.int64)
    best = reduction(x, axis, keepdims=True)
    at = x == best
    if x.dtype.is_floating:
        at = at | (tf.math.is_nan(x) & tf.math.is_nan(best))
    size = tf.cast(dims(x)[axis], tf.int64)
    places = tf.reshape(tf.range(size), [-1, *(1,) * (rank - 1 - axis % rank)])
    if select_last_index:
        return tf.reduce_max(tf.where(at, places, tf.constant(-1, tf.int64)), axis, bool(keepdims))
    return tf.reduce_min(tf.where(at, places, size), axis, bool(keepdims))


def cum_sum(x, axis, exclusive=0, reverse=0):
    """ONNX CumSum along ``axis``; integers wrap."""
    return tf.cast(tf.cumsum(widened(x), axis_number(axis), bool(exclusive), bool(reverse)), x.dtype)


def cum_prod(x, axis, exclusive=0, reverse=0):
    """ONNX CumProd along ``axis``; integers wrap."""
    return tf.cast(tf.math.cumprod(widened(x), axis_number(axis), bool(exclusive), bool(reverse)), x.dtype)


def axis_number(axis):
    """An axis given as a number or as a tensor of one element, as an integer."""
    return int(axis if isinstance(axis, int) else known(axis))
