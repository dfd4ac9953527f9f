# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Sliding windows over images: paddings and views of windows, and the convolutions and pools made of them."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from irfuzz.export.size_arithmetic.window_sizes import pool_geometry, transposed_crops, window_pads, window_room
from irfuzz.export.tensorflow.support.array_tensor_conversion import dims
from irfuzz.export.tensorflow.support.dtype_conversions import lowest, single


def pad_spatial(x, pads, value):
    """``x`` (N, C, *sizes) padded with ``value`` by (before, after) for each spatial axis; negative pads crop."""
    if any(amount < 0 for pair in pads for amount in pair):
        ends = [n + min(after, 0) for n, (_, after) in zip(dims(x)[2:], pads, strict=True)]
        kept = [slice(max(-before, 0), end) for end, (before, _) in zip(ends, pads, strict=True)]
        x = x[(slice(None), slice(None), *kept)]
    room = [(0, 0), (0, 0), *((max(before, 0), max(after, 0)) for before, after in pads)]
    if not any(amount for pair in room for amount in pair):
        return x
    return tf.pad(x, room, constant_values=tf.constant(value, x.dtype))


def pool_windows(x, kernel, strides, dilations, pads, counts, value):
    """All windows of ``x`` (N, C, *sizes) as (N, C, *counts, *kernel), outside filled with ``value``."""
    rank = len(kernel)
    x = pad_spatial(x, window_room(dims(x)[2:], kernel, strides, dilations, pads, counts), value)
    for i in range(rank):
        starts, taps = np.arange(counts[i]) * strides[i], np.arange(kernel[i]) * dilations[i]
        x = tf.gather(x, (starts[:, None] + taps[None, :]).astype(np.int32), axis=2 + 2 * i)
    return tf.transpose(x, [0, 1, *(2 + 2 * i for i in range(rank)), *(3 + 2 * i for i in range(rank))])


def add_windows(columns, sizes, strides, dilations):
    """Windows (A, B, *kernel, *counts) added up where they lie in (A, B, *sizes); the inverse of taking windows."""
    rank = len(sizes)
    shape = dims(columns)
    kernel, counts = shape[2 : 2 + rank], shape[2 + rank :]
    places = np.zeros((1,) * 2 * rank, np.int64)
    for i in range(rank):
        taps = (np.arange(kernel[i]) * dilations[i]).reshape(-1, *(1,) * (2 * rank - 1 - i))
        starts = (np.arange(counts[i]) * strides[i]).reshape(-1, *(1,) * (rank - 1 - i))
        places = places * sizes[i] + (taps + starts)
    flat = tf.reshape(columns, [shape[0] * shape[1], math.prod(kernel) * math.prod(counts)])
    total = tf.math.unsorted_segment_sum(tf.transpose(flat), places.reshape(-1), math.prod(sizes))
    return tf.reshape(tf.transpose(total), [shape[0], shape[1], *sizes])


def conv(x, w, b=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1):
    """ONNX Conv on (N, C, *sizes) with one to three spatial axes; half types are computed in float32."""
    rank = len(x.shape) - 2
    if rank not in (1, 2, 3):
        raise NotImplementedError(f"TensorFlow convolves 1 to 3 spatial axes, not {rank}")
    strides, dilations = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    around = window_pads(dims(x)[2:], dims(w)[2:], strides, dilations, pads, auto_pad)
    data, weights = pad_spatial(single(x), around, 0), single(w)
    if rank == 3 and (group > 1 or any(d != 1 for d in dilations)):
        # Conv3D of the CPU has neither groups nor, in float64, dilations.
        result = conv_of_windows(data, weights, strides, dilations, group)
    else:
        result = conv_channels_last(data, weights, strides, dilations)
    if b is not None:
        result = result + tf.reshape(single(b), [-1, *(1,) * rank])
    return tf.cast(result, x.dtype)


def conv_channels_last(x, w, strides, dilations):
    """Convolution without padding by TensorFlow's own operators, whose CPU kernels want channels last."""
    rank = len(x.shape) - 2
    if rank == 1:
        result = conv_channels_last(tf.expand_dims(x, 2), tf.expand_dims(w, 2), (1, *strides), (1, *dilations))
        return tf.squeeze(result, 2)
    data = tf.transpose(x, [0, *range(2, rank + 2), 1])
    weights = tf.transpose(w, [*range(2, rank + 2), 1, 0])
    if rank == 2:
        result = tf.nn.conv2d(data, weights, [1, *strides, 1], "VALID", dilations=[1, *dilations, 1])
    else:
        result = tf.nn.conv3d(data, weights, [1, *strides, 1], "VALID")
    return tf.transpose(result, [0, rank + 1, *range(1, rank + 1)])


def conv_of_windows(x, w, strides, dilations, group):
    """Convolution without padding as a product of all windows with the filters."""
    rank = len(x.shape) - 2
    shape, filters = dims(x), dims(w)
    kernel = filters[2:]
    counts = [(shape[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    windows = pool_windows(x, kernel, strides, dilations, [(0, 0)] * rank, counts, 0)
    windows = tf.reshape(windows, [shape[0], group, filters[1], math.prod(counts), math.prod(kernel)])
    depth = filters[1] * math.prod(kernel)
    rows = tf.reshape(tf.transpose(windows, [0, 1, 3, 2, 4]), [shape[0], group, math.prod(counts), depth])
    columns = tf.transpose(tf.reshape(w, [group, filters[0] // group, depth]), [0, 2, 1])
    result = tf.transpose(tf.matmul(rows, columns), [0, 1, 3, 2])
    return tf.reshape(result, [shape[0], filters[0], *counts])


def conv_transpose(
    x, w, b=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1,
    output_padding=None, output_shape=None,
):  # fmt: skip
    """ONNX ConvTranspose: the full transposed convolution, then cropped or extended by pads and output_padding."""
    rank = len(x.shape) - 2
    if rank not in (1, 2, 3):
        raise NotImplementedError(f"TensorFlow convolves 1 to 3 spatial axes, not {rank}")
    strides, dilations = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    extra = output_padding or (0,) * rank
    full = full_transpose(single(x), single(w), strides, dilations, group)
    crops = transposed_crops(dims(full)[2:], dims(x)[2:], strides, pads, auto_pad, extra, output_shape)
    result = pad_spatial(full, crops, 0)
    if b is not None:
        result = result + tf.reshape(single(b), [-1, *(1,) * rank])
    return tf.cast(result, x.dtype)


def full_transpose(x, w, strides, dilations, group):
    """Transposed convolution without cropping, of weights (C, M // group, *kernel)."""
    rank = len(x.shape) - 2
    shape, filters = dims(x), dims(w)
    kernel, depth = filters[2:], filters[0] // group
    sizes = [(shape[i + 2] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 for i in range(rank)]
    if rank == 3 or group > 1 or any(d != 1 for d in dilations):
        # The CPU's Conv2DBackpropInput has no groups and no dilations, and its Conv3DBackpropInput multiplies infinite
        # weights by zeros that it puts around the elements.
        data = tf.reshape(x, [shape[0], group, depth, math.prod(shape[2:])])
        weights = tf.reshape(w, [group, depth, filters[1] * math.prod(kernel)])
        columns = tf.matmul(weights, data, transpose_a=True)
        columns = tf.reshape(columns, [shape[0], group * filters[1], *kernel, *shape[2:]])
        return add_windows(columns, sizes, strides, dilations)
    if rank == 1:
        x, w, strides, sizes = tf.expand_dims(x, 2), tf.expand_dims(w, 2), (1, *strides), [1, *sizes]
    data, weights = tf.transpose(x, [0, 2, 3, 1]), tf.transpose(w, [2, 3, 1, 0])
    result = tf.nn.conv2d_transpose(data, weights, [shape[0], *sizes, filters[1]], [1, *strides, 1], "VALID")
    result = tf.transpose(result, [0, 3, 1, 2])
    return tf.squeeze(result, 2) if rank == 1 else result


def conv_integer(x, w, x_zero=None, w_zero=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1):
    """ONNX ConvInteger. Sums of 8-bit products are exact in float64; the int32 result wraps."""
    sums = integer_conv(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, group)
    return tf.cast(tf.cast(sums, tf.int64), tf.int32)


def integer_conv(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, group):
    """Convolution of (x - x_zero) and (w - w_zero) as exact integers in float64."""
    data, weights = tf.cast(x, tf.float64), tf.cast(w, tf.float64)
    if x_zero is not None:
        data = data - tf.cast(x_zero, tf.float64)
    if w_zero is not None:
        weights = weights - tf.reshape(tf.cast(w_zero, tf.float64), [-1, *(1,) * (len(w.shape) - 1)])
    return conv(data, weights, None, strides, dilations, pads, auto_pad, group)


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
