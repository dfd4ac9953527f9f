# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Pooling of images."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from irfuzz.export.size_arithmetic.window_sizes import pool_geometry
from irfuzz.export.tensorflow.support.arrays import dims
from irfuzz.export.tensorflow.support.numbers import lowest, single
from irfuzz.export.tensorflow.support.windows import pool_windows


def max_pool(x, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0):
    """ONNX MaxPool; padding never wins, NaN does."""
    geometry = pool_geometry(dims(x)[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    windows = pool_windows(x, kernel, *geometry, lowest(x.dtype))
    return tf.reduce_max(windows, list(range(-len(kernel), 0)))


def max_pool_indices(
    x, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, storage_order=0
):
    """ONNX MaxPool with Indices: positions in the flattened unpadded input, column-major by ``storage_order``."""
    rank = len(kernel)
    geometry = pool_geometry(dims(x)[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    shape = dims(x)
    spatial = shape[2:]
    flat = [*shape[:2], *geometry[-1], math.prod(kernel)]
    windows = pool_windows(x, kernel, *geometry, lowest(x.dtype))
    windows = tf.reshape(windows, flat)
    places = np.arange(math.prod(spatial)).reshape(spatial)
    if storage_order:
        places = np.arange(math.prod(spatial)).reshape(spatial[::-1]).transpose()
    images = tf.reshape(tf.range(tf.cast(shape[0] * shape[1], tf.int64)), [*shape[:2], *(1,) * rank])
    places = tf.constant(places, tf.int64) + images * math.prod(spatial)
    index = tf.reshape(pool_windows(places, kernel, *geometry, -1), flat)
    # Among equals the first real element wins, not padding that happens to equal it.
    best = tf.reduce_max(windows, -1, keepdims=True)
    wins = windows == best
    if x.dtype.is_floating:
        wins = wins | tf.math.is_nan(windows)
    order = tf.where(wins & (index >= 0), np.arange(flat[-1]), flat[-1])
    at = tf.minimum(tf.reduce_min(order, -1, keepdims=True), flat[-1] - 1)
    return tf.squeeze(best, -1), tf.squeeze(tf.gather(index, at, batch_dims=rank + 2), -1)


def average_pool(
    x, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0
):
    """ONNX AveragePool; the divisor counts input and, if asked, padding, never the overhang of ceil_mode."""
    rank = len(kernel)
    geometry = pool_geometry(dims(x)[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    axes = list(range(-rank, 0))
    sums = tf.reduce_sum(pool_windows(single(x), kernel, *geometry, 0), axes)
    strides, dilations, around, counts = geometry
    sizes = dims(x)[2:]
    if count_include_pad:
        sizes = [sizes[i] + sum(around[i]) for i in range(rank)]
        around = [(0, 0)] * rank
    ones = tf.ones([1, 1, *sizes], sums.dtype)
    divisor = tf.reduce_sum(pool_windows(ones, kernel, strides, dilations, around, counts, 0), axes)
    return tf.cast(sums / divisor, x.dtype)


def lp_pool(x, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, p=2):
    """ONNX LpPool: (sum of |x|**p) ** (1/p) over each window."""
    geometry = pool_geometry(dims(x)[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    windows = pool_windows(single(x), kernel, *geometry, 0)
    return tf.cast(lp_norm(windows, p, list(range(-len(kernel), 0)), keepdims=False), x.dtype)


def lp_norm(x, p, axes, keepdims):
    """(sum of |x|**p) ** (1/p) along ``axes``."""
    if p == 1:
        return tf.reduce_sum(tf.abs(x), axes, keepdims)
    if p == 2:
        return tf.sqrt(tf.reduce_sum(x * x, axes, keepdims))
    return tf.pow(tf.reduce_sum(tf.pow(tf.abs(x), p), axes, keepdims), 1 / p)


def global_average_pool(x):
    """ONNX GlobalAveragePool: the mean over all axes after the second, kept with size 1."""
    rank = len(x.shape)
    return x if rank == 2 else tf.cast(tf.reduce_mean(single(x), list(range(2, rank)), keepdims=True), x.dtype)


def global_max_pool(x):
    """ONNX GlobalMaxPool."""
    rank = len(x.shape)
    return x if rank == 2 else tf.reduce_max(x, list(range(2, rank)), keepdims=True)


def global_lp_pool(x, p):
    """ONNX GlobalLpPool."""
    rank = len(x.shape)
    return tf.abs(x) if rank == 2 else tf.cast(lp_norm(single(x), p, list(range(2, rank)), keepdims=True), x.dtype)
