# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Normalisations of tensors by their statistics."""

from __future__ import annotations

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims
from irfuzz.export.tensorflow.support.dtype_conversions import cast, single


def along_channels(x, vector):
    """``vector`` (C) shaped to broadcast along axis 1 of ``x``."""
    return tf.reshape(vector, [-1, *(1,) * (len(x.shape) - 2)] if len(x.shape) > 1 else [])


def wider(a, b):
    """The floating type that holds all numbers of both."""
    if a == b or a.size != b.size:
        return a if a.size >= b.size else b
    return tf.float32


def batch_norm(x, scale, b, mean, var, epsilon):
    """ONNX BatchNormalization in inference: (x - mean) / sqrt(var + epsilon) * scale + b for each channel."""
    wide = single(x).dtype
    for v in (scale, b, mean, var):
        wide = wider(wide, v.dtype)
    w = tf.cast(x, wide)
    scale, b, mean, var = (along_channels(x, tf.cast(v, wide)) for v in (scale, b, mean, var))
    return cast((w - mean) / tf.sqrt(var + epsilon) * scale + b, x.dtype)


def batch_norm_training(x, scale, b, mean, var, epsilon, momentum):
    """ONNX BatchNormalization in training (opset 14): (Y, running mean, running variance) of this batch."""
    w = single(x)
    axes = [i for i in range(len(x.shape)) if i != 1]
    batch_mean = tf.reduce_mean(w, axes)
    batch_var = tf.reduce_mean(tf.square(w - along_channels(x, batch_mean)), axes)
    running = []
    for old, new in ((mean, batch_mean), (var, batch_var)):
        kept = single(old) * momentum
        running.append(cast(kept + tf.cast(new, kept.dtype) * (1 - momentum), old.dtype))
    return batch_norm(x, scale, b, batch_mean, batch_var, epsilon), *running


def layer_norm(x, scale, b=None, *, axis, epsilon, stash_type):
    """ONNX LayerNormalization: (Y, mean, 1 / deviation) over the axes from ``axis`` on.

    The statistics and the normalised value are computed in ``stash_type`` or, if that is wider, in the type of x;
    the mean and the inverse deviation are given in ``stash_type``.
    """
    axes = list(range(axis % len(x.shape), len(x.shape)))
    w = cast(x, wider(x.dtype, stash_type))
    mean = tf.reduce_mean(w, axes, keepdims=True)
    centred = w - mean
    inverse = 1 / tf.sqrt(tf.reduce_mean(centred * centred, axes, keepdims=True) + epsilon)
    y = single(cast(centred * inverse, x.dtype)) * single(scale)
    return tf.cast(y if b is None else y + single(b), x.dtype), cast(mean, stash_type), cast(inverse, stash_type)


def rms_norm(x, scale, axis, epsilon, stash_type):
    """ONNX RMSNormalization over the axes from ``axis`` on; statistics in ``stash_type`` or wider."""
    axes = list(range(axis % len(x.shape), len(x.shape)))
    w = cast(x, wider(x.dtype, stash_type))
    normal = w / tf.sqrt(tf.reduce_mean(w * w, axes, keepdims=True) + epsilon)
    return tf.cast(single(cast(normal, x.dtype)) * single(scale), x.dtype)


def instance_norm(x, scale, b, epsilon):
    """ONNX InstanceNormalization: each channel of each item by its own statistics."""
    w = single(x)
    axes = list(range(2, len(x.shape)))
    centred = w - tf.reduce_mean(w, axes, keepdims=True)
    variance = tf.reduce_mean(centred * centred, axes, keepdims=True)
    scale, b = along_channels(x, single(scale)), along_channels(x, single(b))
    return tf.cast(scale * centred / tf.sqrt(variance + epsilon) + b, x.dtype)


def group_norm(x, scale, b, num_groups, epsilon, stash_type=None):
    """ONNX GroupNormalization; before opset 21 scale and bias are given for each group, then for each channel."""
    shape = dims(x)
    w = tf.reshape(single(x) if stash_type is None else cast(x, stash_type), [shape[0], num_groups, -1])
    centred = w - tf.reduce_mean(w, 2, keepdims=True)
    normal = centred / tf.sqrt(tf.reduce_mean(centred * centred, 2, keepdims=True) + epsilon)
    if stash_type is not None:
        normal = single(cast(normal, x.dtype))
    if dims(scale)[0] != shape[1]:
        repeat = shape[1] // num_groups
        scale, b = tf.repeat(scale, repeat), tf.repeat(b, repeat)
    scaled = along_channels(x, single(scale)) * tf.reshape(normal, shape)
    return tf.cast(scaled + along_channels(x, single(b)), x.dtype)


def lrn(x, size, alpha, beta, bias):
    """ONNX LRN: x / (bias + alpha / size * sum of squares over ``size`` neighbouring channels) ** beta."""
    w = single(x)
    before = (size - 1) // 2
    room = [(0, 0), (before, size - 1 - before), *((0, 0),) * (len(x.shape) - 2)]
    padded, channels = tf.pad(w * w, room), dims(x)[1]
    squares = sum(padded[:, i : i + channels] for i in range(size))
    return tf.cast(w / tf.pow(bias + alpha / size * squares, beta), x.dtype)


def mean_variance_norm(x, axes):
    """ONNX MeanVarianceNormalization: (x - mean) / (deviation + 1e-9) along ``axes``."""
    w, axes = single(x), list(axes)
    centred = w - tf.reduce_mean(w, axes, keepdims=True)
    deviation = tf.sqrt(tf.reduce_mean(centred * centred, axes, keepdims=True))
    return tf.cast(centred / (deviation + 1e-9), x.dtype)


def lp_normalization(x, axis, p):
    """ONNX LpNormalization: x over its p-norm along ``axis``, 0 if the norm is 0."""
    w = single(x)
    norm = tf.reduce_sum(tf.abs(w), axis, keepdims=True)
    if p != 1:
        norm = tf.sqrt(tf.reduce_sum(w * w, axis, keepdims=True))
    return tf.cast(tf.where(norm == 0, tf.zeros_like(w), w / norm), x.dtype)
