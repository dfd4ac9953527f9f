# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Losses of scores and classes."""

from __future__ import annotations

import tensorflow as tf

from irfuzz.export.tensorflow.support.dtype_conversions import single


def nll_loss(x, target, weight=None, reduction="mean", ignore_index=None):
    """ONNX NegativeLogLikelihoodLoss of log probabilities (N, C, ...) for classes (N, ...)."""
    target = tf.cast(target, tf.int64)
    ignored = tf.zeros_like(target, tf.bool) if ignore_index is None else target == ignore_index
    classes = tf.where(ignored, tf.zeros_like(target), target)
    w, rank = single(x), len(x.shape)
    factor = tf.ones_like(classes, w.dtype) if weight is None else tf.gather(single(weight), classes)
    factor = tf.where(ignored, tf.zeros_like(factor), factor)
    last = tf.transpose(w, [0, *range(2, rank), 1])
    loss = -tf.gather(last, classes, batch_dims=rank - 1) * factor
    loss = tf.where(ignored, tf.zeros_like(loss), loss)
    if reduction == "sum":
        loss = tf.reduce_sum(loss)
    elif reduction == "mean":
        loss = tf.reduce_sum(loss) / tf.reduce_sum(factor)
    return tf.cast(loss, x.dtype)


def cross_entropy(x, target, weight=None, reduction="mean", ignore_index=None):
    """ONNX SoftmaxCrossEntropyLoss of scores (N, C, ...): (loss, log probabilities)."""
    logs = tf.nn.log_softmax(single(x), 1)
    loss = nll_loss(logs, target, weight, reduction, ignore_index)
    return tf.cast(loss, x.dtype), tf.cast(logs, x.dtype)
