# pyright: basic
"""Losses of scores for classes, computed in float64."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, whole, wide
from irfuzz.export.array.support.elementwise import soft_max


def loss_of(logs, target, weight, reduction, ignore_index):
    """Of log probabilities (N, C, ...) in float64 for classes (N, ...)."""
    counts = np.ones(target.shape, np.bool_) if ignore_index is None else target != ignore_index
    classes = np.where(counts, whole(target), 0)
    share = np.where(counts, 1.0 if weight is None else wide(weight)[classes], 0.0)
    picked = np.take_along_axis(logs, classes[:, None], 1)[:, 0]
    loss = np.where(counts, -picked * share, 0.0)
    if reduction == "none":
        return loss
    return np.sum(loss) / np.sum(share) if reduction == "mean" else np.sum(loss)


def nll_loss(x, target, weight=None, reduction="mean", ignore_index=None):
    """ONNX NegativeLogLikelihoodLoss."""
    return cast(loss_of(wide(x), target, weight, reduction, ignore_index), x.dtype)


def cross_entropy(x, target, weight=None, reduction="mean", ignore_index=None):
    """ONNX SoftmaxCrossEntropyLoss of scores (N, C, ...): (loss, log probabilities)."""
    logs = soft_max(wide(x), 1)[1]
    return cast(loss_of(logs, target, weight, reduction, ignore_index), x.dtype), cast(logs, x.dtype)
