# pyright: basic
"""Losses of scores and classes."""

from __future__ import annotations

import torch

from irfuzz.export.torch.support.dtype_conversions import single


def nll_loss(x, target, weight=None, reduction="mean", ignore_index=None):
    """ONNX NegativeLogLikelihoodLoss of log probabilities (N, C, ...) for classes (N, ...)."""
    target = target.to(torch.int64)
    ignored = torch.zeros_like(target, dtype=torch.bool) if ignore_index is None else target == ignore_index
    classes = torch.where(ignored, 0, target)
    w = single(x)
    factor = torch.ones_like(classes, dtype=w.dtype) if weight is None else single(weight)[classes]
    factor = torch.where(ignored, torch.zeros_like(factor), factor)
    loss = -w.gather(1, classes.unsqueeze(1)).squeeze(1) * factor
    loss = torch.where(ignored, torch.zeros_like(loss), loss)
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = loss.sum() / factor.sum()
    return loss.to(x.dtype)


def cross_entropy(x, target, weight=None, reduction="mean", ignore_index=None):
    """ONNX SoftmaxCrossEntropyLoss of scores (N, C, ...): (loss, log probabilities)."""
    logs = torch.log_softmax(single(x), 1)
    return nll_loss(logs, target, weight, reduction, ignore_index).to(x.dtype), logs.to(x.dtype)
