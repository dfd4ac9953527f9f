# pyright: basic
"""Normalisations by statistics of the elements themselves, computed in float64."""

from __future__ import annotations

import math

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, is_real, wide


def of_channels(x, vector):
    """``vector`` (C) in float64, shaped to broadcast along axis 1 of ``x``."""
    return wide(vector).reshape((-1, *[1] * (x.ndim - 2)) if x.ndim > 1 else ())


def spread(w, axes):
    """What is left of ``w`` when its mean along ``axes`` is taken away, that mean, and the variance."""
    mean = np.mean(w, axes, keepdims=True)
    centred = w - mean
    return centred, mean, np.mean(centred * centred, axes, keepdims=True)


def batch_norm(x, scale, b, mean, var, epsilon):
    """ONNX BatchNormalization in inference: (x - mean) / sqrt(var + epsilon) * scale + b for each channel."""
    deviation = np.sqrt(of_channels(x, var) + epsilon)
    normal = (wide(x) - of_channels(x, mean)) / deviation
    return cast(normal * of_channels(x, scale) + of_channels(x, b), x.dtype)


def batch_norm_training(x, scale, b, mean, var, epsilon, momentum):
    """ONNX BatchNormalization in training (opset 14): (Y, running mean, running variance) of this batch."""
    _, of_batch, variance = spread(wide(x), (0, *range(2, x.ndim)))
    of_batch, variance = of_batch.reshape(-1), variance.reshape(-1)
    running = [
        cast(wide(old) * momentum + new * (1 - momentum), old.dtype) for old, new in ((mean, of_batch), (var, variance))
    ]
    return (batch_norm(x, scale, b, of_batch, variance, epsilon), *running)


def stashed(x, stash_type):
    """X as the operator's statistics see it: rounded to ``stash_type`` if that is the narrower type."""
    narrower = is_real(stash_type) and np.dtype(stash_type).itemsize < x.dtype.itemsize
    return wide(x) if narrower else wide(cast(x, stash_type))


def layer_norm(x, scale, b=None, *, axis=-1, epsilon, stash_type):
    """ONNX LayerNormalization: (Y, mean, 1 / deviation) over the axes from ``axis`` on."""
    centred, mean, variance = spread(stashed(x, stash_type), tuple(range(axis % x.ndim, x.ndim)))
    inverse = 1 / np.sqrt(variance + epsilon)
    y = wide(cast(centred * inverse, x.dtype)) * wide(scale) + (0 if b is None else wide(b))
    return cast(y, x.dtype), cast(mean, stash_type), cast(inverse, stash_type)


def rms_norm(x, scale, axis, epsilon, stash_type):
    """ONNX RMSNormalization over the axes from ``axis`` on."""
    w = stashed(x, stash_type)
    square = np.mean(np.square(w), tuple(range(axis % x.ndim, x.ndim)), keepdims=True)
    return cast(np.multiply(wide(cast(w / np.sqrt(square + epsilon), x.dtype)), wide(scale)), x.dtype)


def instance_norm(x, scale, b, epsilon):
    """ONNX InstanceNormalization: each channel of each item by its own statistics."""
    centred, _, variance = spread(wide(x), tuple(range(2, x.ndim)))
    return cast(of_channels(x, scale) * centred / np.sqrt(variance + epsilon) + of_channels(x, b), x.dtype)


def group_norm(x, scale, b, num_groups, epsilon, stash_type=None):
    """ONNX GroupNormalization; before opset 21 scale and bias are given for each group, then for each channel."""
    w = wide(x) if stash_type is None else wide(cast(x, stash_type))
    centred, _, variance = spread(w.reshape((x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups)), 2)
    normal = (centred / np.sqrt(variance + epsilon)).reshape(x.shape)
    if stash_type is not None:
        normal = wide(cast(normal, x.dtype))
    if len(scale) != x.shape[1]:
        scale, b = (np.repeat(vector, x.shape[1] // num_groups) for vector in (scale, b))
    return cast(of_channels(x, scale) * normal + of_channels(x, b), x.dtype)


def lrn(x, size, alpha, beta, bias):
    """ONNX LRN: x / (bias + alpha / size * sum of squares over ``size`` neighbouring channels) ** beta."""
    w = wide(x)
    first = (size - 1) // 2
    squares = np.pad(w * w, [(0, 0), (first, size - 1 - first), *[(0, 0)] * (x.ndim - 2)])
    near = sum(squares[:, i : i + x.shape[1]] for i in range(size))
    return cast(w / (bias + alpha / size * near) ** beta, x.dtype)


def mean_variance_norm(x, axes):
    """ONNX MeanVarianceNormalization: (x - mean) / (deviation + 1e-9) along ``axes``."""
    centred, _, variance = spread(wide(x), tuple(axes))
    return cast(centred / (np.sqrt(variance) + 1e-9), x.dtype)


def lp_normalization(x, axis, p):
    """ONNX LpNormalization: x over its p-norm along ``axis``, 0 if the norm is 0."""
    w = wide(x)
    norm = np.sum(np.abs(w), axis, keepdims=True) if p == 1 else np.sqrt(np.sum(w * w, axis, keepdims=True))
    return cast(np.where(norm == 0, 0.0, w / norm), x.dtype)
