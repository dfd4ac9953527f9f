# pyright: basic
"""Quantises real tensors and dequantises integers."""

from __future__ import annotations

import torch

from irfuzz.export.torch.support.convolutions_and_pools import integer_conv
from irfuzz.export.torch.support.dtype_conversions import cast, single


def quantization_grid(x, parameter, axis, block_size=0):
    """A scale or zero point shaped to broadcast to ``x``: per tensor, per axis or per block."""
    if parameter.numel() == 1 and parameter.dim() <= 1:
        return parameter.reshape(())
    if parameter.dim() == 1 and (not block_size or x.dim() > 1):
        return parameter.reshape(-1, *(1,) * (x.dim() - 1 - axis % x.dim()))
    if block_size:
        return parameter.repeat_interleave(block_size, axis).narrow(axis, 0, x.shape[axis])
    return parameter


def saturate(real, zero, dtype):
    """round(real) + zero point, half to even, clamped to the range of an integer type of up to 16 bits."""
    info = torch.iinfo(dtype)
    # Far beyond every 16-bit range, yet exact in float32 and safe to add to.
    whole = single(torch.round(real)).clamp(-(2.0**30), 2.0**30).to(torch.int64)
    return (whole + zero).clamp(info.min, info.max).to(dtype)


def quantize(x, scale, zero=None, axis=1, block_size=0, dtype=torch.uint8, precision=None):
    """ONNX QuantizeLinear: saturate(round(x / scale) + zero), divided in the type of ``scale`` or ``precision``."""
    dtype = dtype if zero is None else zero.dtype
    precision = precision or scale.dtype
    ratio = cast(x, precision) / quantization_grid(x, cast(scale, precision), axis, block_size)
    offset = 0 if zero is None else quantization_grid(x, zero.to(torch.int64), axis, block_size)
    return saturate(ratio, offset, dtype)


def dequantize(x, scale, zero=None, axis=1, block_size=0, dtype=None):
    """ONNX DequantizeLinear: (x - zero) * scale, the difference exact, the product of halves in single."""
    whole = x.to(torch.int64)
    if zero is not None:
        whole = whole - quantization_grid(x, zero.to(torch.int64), axis, block_size)
    dtype = dtype or scale.dtype
    factor = single(cast(quantization_grid(x, scale, axis, block_size), dtype))
    return cast(cast(whole, factor.dtype) * factor, dtype)


def dynamic_quantize(x):
    """ONNX DynamicQuantizeLinear: (uint8, scale, zero point) from the range of x widened to hold 0."""
    low, high = torch.clamp(x.amin(), max=0), torch.clamp(x.amax(), min=0)
    scale = (high - low) / 255
    zero = torch.round(torch.clamp(0 - low / scale, 0, 255))
    return saturate(x / scale, zero.to(torch.int64), torch.uint8), scale, zero.to(torch.uint8)


def zero_rows(a, zero):
    """A zero point or scale of the left factor of a product: one element a row."""
    return zero.unsqueeze(-1) if zero.dim() == 1 and zero.numel() > 1 and a.dim() > 1 else bare(zero)


def bare(parameter):
    """A parameter of one element as a scalar, which gives no dimension to the product of two vectors."""
    return parameter.reshape(()) if parameter.dim() == 1 and parameter.numel() == 1 else parameter


def integer_product(a, b, a_zero, b_zero):
    """(a - a_zero) @ (b - b_zero) in int64."""
    left = a.to(torch.int64) - (0 if a_zero is None else zero_rows(a, a_zero).to(torch.int64))
    right = b.to(torch.int64) - (0 if b_zero is None else bare(b_zero).to(torch.int64))
    return torch.matmul(left, right)


def matmul_integer(a, b, a_zero=None, b_zero=None):
    """ONNX MatMulInteger; the int32 result wraps."""
    return integer_product(a, b, a_zero, b_zero).to(torch.int32)


def qlinear_matmul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    """ONNX QLinearMatMul: the exact integer product, rescaled in float64, rounded once."""
    product = integer_product(a, b, a_zero, b_zero).double()
    real = product * zero_rows(a, a_scale.double()) * bare(b_scale.double()) / zero_rows(a, y_scale.double())
    return saturate(real, zero_rows(a, y_zero.to(torch.int64)), y_zero.dtype)


def qlinear_conv(
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=None,
    strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1,
):  # fmt: skip
    """ONNX QLinearConv: the exact integer convolution, rescaled in float64, rounded once."""
    sums = integer_conv(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, group)
    channels = (-1, *(1,) * (x.dim() - 2))
    if b is not None:
        sums = sums + b.double().reshape(channels)
    real = sums * x_scale.double() * w_scale.double().reshape(channels) / y_scale.double()
    return saturate(real, y_zero.to(torch.int64), y_zero.dtype)
