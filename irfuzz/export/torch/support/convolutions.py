# pyright: basic
"""Convolutions of images with filters."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - as torch's own documentation calls it

from irfuzz.export.size_arithmetic.window_sizes import transposed_crops, window_pads
from irfuzz.export.torch.support.numbers import single
from irfuzz.export.torch.support.windows import pad_spatial


def conv(x, w, b=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1):
    """ONNX Conv on (N, C, *sizes) with one to three spatial axes; half types are computed in float32."""
    rank = x.dim() - 2
    if rank not in (1, 2, 3):
        raise NotImplementedError(f"torch convolves 1 to 3 spatial axes, not {rank}")
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    around = window_pads(x.shape[2:], w.shape[2:], strides, dilations, pads, auto_pad)
    symmetric = all(before == after for before, after in around)
    data = single(x) if symmetric else pad_spatial(single(x), around, 0)
    padding = [before for before, _ in around] if symmetric else 0
    convolve = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    bias = None if b is None else single(b)
    return convolve(data, single(w), bias, strides, padding, dilations, group).to(x.dtype)


def conv_transpose(
    x, w, b=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1,
    output_padding=None, output_shape=None,
):  # fmt: skip
    """ONNX ConvTranspose: the full transposed convolution, then cropped or extended by pads and output_padding."""
    rank = x.dim() - 2
    if rank not in (1, 2, 3):
        raise NotImplementedError(f"torch convolves 1 to 3 spatial axes, not {rank}")
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    extra = output_padding or (0,) * rank
    convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    full = convolve(single(x), single(w), None, strides, 0, 0, group, dilations)
    crops = transposed_crops(full.shape[2:], x.shape[2:], strides, pads, auto_pad, extra, output_shape)
    result = pad_spatial(full, crops, 0)
    if b is not None:
        result = result + single(b).reshape(-1, *(1,) * rank)
    return result.to(x.dtype)


def conv_integer(x, w, x_zero=None, w_zero=None, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1):
    """ONNX ConvInteger. Sums of 8-bit products are exact in float64; the int32 result wraps."""
    sums = integer_conv(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, group)
    return sums.to(torch.int64).to(torch.int32)


def integer_conv(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, group):
    """Convolution of (x - x_zero) and (w - w_zero) as exact integers in float64."""
    data = x.double() - (0 if x_zero is None else x_zero.double())
    weights = w.double()
    if w_zero is not None:
        weights = weights - w_zero.double().reshape(-1, *(1,) * (w.dim() - 1))
    return conv(data, weights, None, strides, dilations, pads, auto_pad, group)
