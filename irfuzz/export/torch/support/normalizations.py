# pyright: basic
"""Normalisations of tensors by their statistics."""

from __future__ import annotations

import torch

from irfuzz.export.torch.support.dtype_conversions import cast, single


def along_channels(x, vector):
    """``vector`` (C) shaped to broadcast along axis 1 of ``x``."""
    return vector.reshape(-1, *(1,) * (x.dim() - 2)) if x.dim() > 1 else vector.reshape(())


def batch_norm(x, scale, b, mean, var, epsilon):
    """ONNX BatchNormalization in inference: (x - mean) / sqrt(var + epsilon) * scale + b for each channel."""
    wide = single(x).dtype
    for v in (scale, b, mean, var):
        wide = torch.promote_types(wide, v.dtype)
    scale, b, mean, var = (along_channels(x, v.to(wide)) for v in (scale, b, mean, var))
    return cast((x.to(wide) - mean) / torch.sqrt(var + epsilon) * scale + b, x.dtype)


def batch_norm_training(x, scale, b, mean, var, epsilon, momentum):
    """ONNX BatchNormalization in training (opset 14): (Y, running mean, running variance) of this batch."""
    w = single(x)
    axes = tuple(i for i in range(x.dim()) if i != 1)
    batch_mean, batch_var = w.mean(axes), w.var(axes, correction=0)
    running_mean = (single(mean) * momentum + batch_mean * (1 - momentum)).to(mean.dtype)
    running_var = (single(var) * momentum + batch_var * (1 - momentum)).to(var.dtype)
    return batch_norm(x, scale, b, batch_mean, batch_var, epsilon), running_mean, running_var


def layer_norm(x, scale, b=None, *, axis, epsilon, stash_type):
    """ONNX LayerNormalization: (Y, mean, 1 / deviation) over the axes from ``axis`` on.

    The statistics and the normalised value are computed in ``stash_type`` or, if that is wider, in the type of x;
    the mean and the inverse deviation are given in ``stash_type``.
    """
    axes = tuple(range(axis % x.dim(), x.dim()))
    w = cast(x, torch.promote_types(x.dtype, stash_type))
    mean = w.mean(axes, keepdim=True)
    centred = w - mean
    inverse = 1 / torch.sqrt((centred * centred).mean(axes, keepdim=True) + epsilon)
    y = single(cast(centred * inverse, x.dtype)) * single(scale)
    return (y if b is None else y + single(b)).to(x.dtype), cast(mean, stash_type), cast(inverse, stash_type)


def rms_norm(x, scale, axis, epsilon, stash_type):
    """ONNX RMSNormalization over the axes from ``axis`` on; statistics in ``stash_type`` or wider."""
    axes = tuple(range(axis % x.dim(), x.dim()))
    w = cast(x, torch.promote_types(x.dtype, stash_type))
    normal = w / torch.sqrt((w * w).mean(axes, keepdim=True) + epsilon)
    return (single(cast(normal, x.dtype)) * single(scale)).to(x.dtype)


def instance_norm(x, scale, b, epsilon):
    """ONNX InstanceNormalization: each channel of each item by its own statistics."""
    w = single(x)
    axes = tuple(range(2, x.dim()))
    centred = w - w.mean(axes, keepdim=True)
    variance = (centred * centred).mean(axes, keepdim=True)
    scale, b = along_channels(x, single(scale)), along_channels(x, single(b))
    return (scale * centred / torch.sqrt(variance + epsilon) + b).to(x.dtype)


def group_norm(x, scale, b, num_groups, epsilon, stash_type=None):
    """ONNX GroupNormalization; before opset 21 scale and bias are given for each group, then for each channel."""
    w = (single(x) if stash_type is None else cast(x, stash_type)).reshape(x.shape[0], num_groups, -1)
    centred = w - w.mean(2, keepdim=True)
    normal = centred / torch.sqrt((centred * centred).mean(2, keepdim=True) + epsilon)
    if stash_type is not None:
        normal = single(cast(normal, x.dtype))
    if scale.shape[0] != x.shape[1]:
        repeat = x.shape[1] // num_groups
        scale, b = scale.repeat_interleave(repeat), b.repeat_interleave(repeat)
    return (along_channels(x, single(scale)) * normal.reshape(x.shape) + along_channels(x, single(b))).to(x.dtype)


def lrn(x, size, alpha, beta, bias):
    """ONNX LRN: x / (bias + alpha / size * sum of squares over ``size`` neighbouring channels) ** beta."""
    w = single(x)
    if not x.shape[1]:  # torch has no windows over no channels
        return x
    before = (size - 1) // 2
    edges = [w.new_zeros((x.shape[0], n, *x.shape[2:])) for n in (before, size - 1 - before)]
    squares = torch.cat([edges[0], w * w, edges[1]], 1).unfold(1, size, 1).sum(-1)
    return (w / torch.pow(bias + alpha / size * squares, beta)).to(x.dtype)


def mean_variance_norm(x, axes):
    """ONNX MeanVarianceNormalization: (x - mean) / (deviation + 1e-9) along ``axes``."""
    w = single(x)
    centred = w - w.mean(axes, keepdim=True)
    deviation = torch.sqrt((centred * centred).mean(axes, keepdim=True))
    return (centred / (deviation + 1e-9)).to(x.dtype)


def lp_normalization(x, axis, p):
    """ONNX LpNormalization: x over its p-norm along ``axis``, 0 if the norm is 0."""
    w = single(x)
    norm = w.abs().sum(axis, keepdim=True) if p == 1 else (w * w).sum(axis, keepdim=True).sqrt()
    return torch.where(norm == 0, torch.zeros_like(w), w / norm).to(x.dtype)
