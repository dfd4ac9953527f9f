# pyright: basic
"""Quantised numbers, to and from real ones, and products of them."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.convolutions_and_pools import integer_conv
from irfuzz.export.array.support.dtype_conversions import cast, doubled, whole


def fitted(x, parameter, axis, block):
    """A scale or zero point shaped to broadcast to ``x``: per tensor, per axis or per block."""
    if parameter.size == 1 and parameter.ndim < 2:
        return parameter.reshape(())
    if parameter.ndim == 1 and not (block and x.ndim == 1):
        return parameter.reshape((-1, *[1] * (x.ndim - 1 - axis % x.ndim)))
    if block:
        return np.take(parameter, np.arange(x.shape[axis]) // block, axis)
    return parameter


def saturated(real, zero, dtype):
    """round(real) + zero point, half to even, cut off at the ends of an integer type of up to 16 bits."""
    info = np.iinfo(dtype)
    rounded = np.clip(np.rint(doubled(real)), -(2.0**30), 2.0**30).astype(np.int64)
    return np.clip(rounded + zero, info.min, info.max).astype(dtype)


def quantize(x, scale, zero=None, axis=1, block_size=0, output_dtype=None, precision=None):
    """ONNX QuantizeLinear: saturate(round(x / scale) + zero), divided in the type of ``scale`` or ``precision``."""
    kind = scale.dtype if precision is None else precision
    ratio = np.divide(cast(x, kind), fitted(x, cast(scale, kind), axis, block_size))
    offset = 0 if zero is None else fitted(x, whole(zero), axis, block_size)
    return saturated(ratio, offset, (output_dtype or np.uint8) if zero is None else zero.dtype)


def dequantize(x, scale, zero=None, axis=1, block_size=0, output_dtype=None):
    """ONNX DequantizeLinear: (x - zero) * scale, the difference exact, the product rounded once, to the output type."""
    steps = whole(x) - (0 if zero is None else fitted(x, whole(zero), axis, block_size))
    kind = scale.dtype if output_dtype is None else output_dtype
    return cast(doubled(steps) * doubled(cast(fitted(x, scale, axis, block_size), kind)), kind)


def dynamic_quantize(x):
    """ONNX DynamicQuantizeLinear: (uint8, scale, zero point) from the range of x widened to hold 0, in float32."""
    low, high = np.minimum(np.min(x), np.float32(0)), np.maximum(np.max(x), np.float32(0))
    scale = np.asarray((high - low) / np.float32(255))
    zero = np.rint(np.clip(0 - low / scale, 0, 255))
    return saturated(x / scale, whole(zero), np.uint8), scale, zero.astype(np.uint8)


def of_rows(matrix, parameter):
    """A parameter of the left factor of a product: one element a row."""
    per_row = parameter.ndim == 1 and parameter.size > 1 and matrix.ndim > 1
    return parameter[:, None] if per_row else lone(parameter)


def lone(parameter):
    """A parameter of one element as a scalar."""
    return parameter.reshape(()) if parameter.shape == (1,) else parameter


def integer_product(a, b, a_zero, b_zero):
    """(a - a_zero) @ (b - b_zero) in int64."""
    left = whole(a) - (0 if a_zero is None else of_rows(a, whole(a_zero)))
    return np.matmul(left, whole(b) - (0 if b_zero is None else lone(whole(b_zero))))


def matmul_integer(a, b, a_zero=None, b_zero=None):
    """ONNX MatMulInteger; the int32 result wraps."""
    return integer_product(a, b, a_zero, b_zero).astype(np.int32)


def qlinear_matmul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    """ONNX QLinearMatMul: the exact integer product, rescaled in float64, rounded once."""
    factor = of_rows(a, doubled(a_scale)) * lone(doubled(b_scale))
    real = integer_product(a, b, a_zero, b_zero) * factor / of_rows(a, doubled(y_scale))
    return saturated(real, of_rows(a, whole(y_zero)), y_zero.dtype)


def qlinear_conv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=None, **how):
    """ONNX QLinearConv: the exact integer convolution, rescaled in float64, rounded once."""
    column = (-1, *[1] * (x.ndim - 2))
    total = np.add(integer_conv(x, w, x_zero, w_zero, **how), 0 if b is None else doubled(b).reshape(column))
    real = total * doubled(x_scale) * doubled(w_scale).reshape(column) / doubled(y_scale)
    return saturated(real, whole(y_zero), y_zero.dtype)
