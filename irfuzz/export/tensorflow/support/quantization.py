# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Quantises real tensors and dequantises integers."""

from __future__ import annotations

import math

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims
from irfuzz.export.tensorflow.support.convolutions_and_pools import integer_conv
from irfuzz.export.tensorflow.support.dtype_conversions import cast, single
from irfuzz.export.tensorflow.support.matrix_products import product


def quantization_grid(x, parameter, axis, block_size=0):
    """A scale or zero point shaped to broadcast to ``x``: per tensor, per axis or per block."""
    rank, shape = len(parameter.shape), dims(parameter)
    if rank <= 1 and math.prod(shape) == 1:
        return tf.reshape(parameter, [])
    if rank == 1 and (not block_size or len(x.shape) > 1):
        return tf.reshape(parameter, [-1, *(1,) * (len(x.shape) - 1 - axis % len(x.shape))])
    if block_size:
        axis %= len(x.shape)
        return tf.repeat(parameter, block_size, axis)[(*(slice(None),) * axis, slice(dims(x)[axis]))]
    return parameter


def saturate(real, zero, dtype):
    """round(real) + zero point, half to even, clamped to the range of an integer type of up to 16 bits."""
    # Far beyond every 16-bit range, yet exact in float32 and safe to add to.
    whole = tf.cast(tf.clip_by_value(single(tf.round(real)), -(2.0**30), 2.0**30), tf.int64)
    return tf.cast(tf.clip_by_value(whole + zero, dtype.min, dtype.max), dtype)


def quantize(x, scale, zero=None, axis=1, block_size=0, dtype=tf.uint8, precision=None):
    """ONNX QuantizeLinear: saturate(round(x / scale) + zero), divided in the type of ``scale`` or ``precision``."""
    dtype = dtype if zero is None else zero.dtype
    precision = precision or scale.dtype
    ratio = cast(x, precision) / quantization_grid(x, cast(scale, precision), axis, block_size)
    offset = 0 if zero is None else quantization_grid(x, tf.cast(zero, tf.int64), axis, block_size)
    return saturate(ratio, offset, dtype)


def dequantize(x, scale, zero=None, axis=1, block_size=0, dtype=None):
    """ONNX DequantizeLinear: (x - zero) * scale, the difference exact, the product of halves in single."""
    whole = tf.cast(x, tf.int64)
    if zero is not None:
        whole = whole - quantization_grid(x, tf.cast(zero, tf.int64), axis, block_size)
    dtype = dtype or scale.dtype
    factor = single(cast(quantization_grid(x, scale, axis, block_size), dtype))
    return cast(cast(whole, factor.dtype) * factor, dtype)


def dynamic_quantize(x):
    """ONNX DynamicQuantizeLinear: (uint8, scale, zero point) from the range of x widened to hold 0."""
    low, high = tf.minimum(tf.reduce_min(x), 0), tf.maximum(tf.reduce_max(x), 0)
    scale = (high - low) / 255
    zero = tf.round(tf.clip_by_value(0 - low / scale, 0, 255))
    return saturate(x / scale, tf.cast(zero, tf.int64), tf.uint8), scale, tf.cast(zero, tf.uint8)


def zero_rows(a, zero):
    """A zero point or scale of the left factor of a product: one element a row."""
    rows = len(zero.shape) == 1 and dims(zero)[0] != 1 and len(a.shape) > 1
    return tf.expand_dims(zero, -1) if rows else bare(zero)


def bare(parameter):
    """A parameter of one element as a scalar, which gives no dimension to the product of two vectors."""
    return tf.reshape(parameter, []) if len(parameter.shape) == 1 and dims(parameter)[0] == 1 else parameter


def integer_product(a, b, a_zero, b_zero):
    """(a - a_zero) @ (b - b_zero) in int64."""
    left, right = tf.cast(a, tf.int64), tf.cast(b, tf.int64)
    if a_zero is not None:
        left = left - zero_rows(a, tf.cast(a_zero, tf.int64))
    if b_zero is not None:
        right = right - bare(tf.cast(b_zero, tf.int64))
    return product(left, right)


def matmul_integer(a, b, a_zero=None, b_zero=None):
    """ONNX MatMulInteger; the int32 result wraps."""
    return tf.cast(integer_product(a, b, a_zero, b_zero), tf.int32)


def qlinear_matmul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    """ONNX QLinearMatMul: the exact integer product, rescaled in float64, rounded once."""
    sums = tf.cast(integer_product(a, b, a_zero, b_zero), tf.float64)
    a_scale, b_scale, y_scale = (tf.cast(s, tf.float64) for s in (a_scale, b_scale, y_scale))
    real = sums * zero_rows(a, a_scale) * bare(b_scale) / zero_rows(a, y_scale)
    return saturate(real, zero_rows(a, tf.cast(y_zero, tf.int64)), y_zero.dtype)


def qlinear_conv(
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=None,
    strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1,
):  # fmt: skip
    """ONNX QLinearConv: the exact integer convolution, rescaled in float64, rounded once."""
    sums = integer_conv(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, group)
    channels = (-1, *(1,) * (len(x.shape) - 2))
    if b is not None:
        sums = sums + tf.reshape(tf.cast(b, tf.float64), channels)
    x_scale, w_scale, y_scale = (tf.cast(s, tf.float64) for s in (x_scale, w_scale, y_scale))
    real = sums * x_scale * tf.reshape(w_scale, channels) / y_scale
    return saturate(real, tf.cast(y_zero, tf.int64), y_zero.dtype)
