# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Convolutions of images with filters."""

from __future__ import annotations

import math

import tensorflow as tf

from irfuzz.export.size_arithmetic.window_sizes import transposed_crops, window_pads
from irfuzz.export.tensorflow.support.arrays import dims
from irfuzz.export.tensorflow.support.numbers import single
from irfuzz.export.tensorflow.support.windows import add_windows, pad_spatial, pool_windows


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
