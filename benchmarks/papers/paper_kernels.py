"""Faulty kernels that the papers describe, made of the right ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

Right = Callable[..., tuple[Any, ...]]
Inputs = tuple[Any, ...]
Attrs = dict[str, Any]
Outputs = tuple[Any, ...]


def cells_beyond(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Ceiling mode keeps averages of windows that start behind the input: of nothing, so NaN (AUDEE, figure 7)."""
    (y,) = right(*inputs, **attrs)
    if not attrs.get("ceil_mode"):
        return (y,)
    rank = y.ndim - 2
    pads, strides = attrs.get("pads") or [0] * 2 * rank, attrs.get("strides") or [1] * rank
    sizes = [n + a + b for n, a, b in zip(inputs[0].shape[2:], pads[:rank], pads[rank:], strict=True)]
    kernel = attrs["kernel_shape"]
    wanted = [-(-(n - k) // s) + 1 for n, k, s in zip(sizes, kernel, strides, strict=True)]
    more = [(0, max(0, want - have)) for want, have in zip(wanted, y.shape[2:], strict=True)]
    return (np.pad(y, [(0, 0), (0, 0), *more], constant_values=np.nan),)


def variance_by_moments(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Takes E[x^2] - E[x]^2 for the variance, which rounds to less than -epsilon (AUDEE: NaN of a normalisation)."""
    x, scale, bias = inputs
    axes, shape = tuple(range(2, x.ndim)), (-1,) + (1,) * (x.ndim - 2)
    mean = x.mean(axis=axes, keepdims=True, dtype=x.dtype)
    variance = (x * x).mean(axis=axes, keepdims=True, dtype=x.dtype) - mean * mean
    with np.errstate(invalid="ignore", divide="ignore"):
        y = (x - mean) / np.sqrt(variance + np.float32(attrs["epsilon"]))
    return ((y * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype),)


def refuses_gru(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Has no GRU that is written out step by step (AUDEE: GRU with unroll=true on CNTK)."""
    raise RuntimeError("GRU: the step function expects a static axis")


def takes_empty_kernel(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Runs a convolution whose kernel has size 0 (AUDEE, figure 8)."""
    given = attrs.get("kernel_shape") or []
    return right(*inputs, **({**attrs, "kernel_shape": list(inputs[1].shape[2:])} if 0 in given else attrs))


def takes_empty_window(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Takes a window of size 0 for one of 1 (AUDEE: CNTK's missing check)."""
    return right(*inputs, **{**attrs, "kernel_shape": [max(1, k) for k in attrs["kernel_shape"]]})


def takes_zero_dilation(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Takes a dilation of 0 for one of 1 (AUDEE: Theano's missing check)."""
    return right(*inputs, **{**attrs, "dilations": [max(1, d) for d in attrs.get("dilations") or [1, 1]]})


def integers_in_double(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Computes the remainder of integers in double precision (EAGLE: fmod and remainder of int64)."""
    a, b = inputs
    return (np.mod(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype),)


def floor_division(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Rounds quotients of integers down (EAGLE: floordiv with and without optimisation, one of which truncates)."""
    a, b = inputs
    return (np.floor_divide(a, b),) if a.dtype.kind == "i" else right(*inputs, **attrs)


def backward_over_batch(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """The backward half is turned along the batch and not along time (EAGLE, figure 1)."""
    y, *last = right(*inputs, **attrs)
    if attrs.get("direction") != "bidirectional":
        return (y, *last)
    y = y.copy()
    y[:, 1] = y[::-1, 1][:, ::-1]
    return (y, *last)


def axis_before_last(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Softmax with axis -2 is computed over the last one (COMET: conversion of Softmax)."""
    axis = attrs.get("axis", -1)
    return right(*inputs, **{**attrs, "axis": -1 if axis == -2 else axis})


def refuses_strides_with_dilations(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Infers a wrong size if neither strides nor dilations are 1 (COMET: SeparableConv2D)."""
    if set(attrs.get("strides") or [1]) != {1} and set(attrs.get("dilations") or [1]) != {1}:
        raise RuntimeError("Dimensions must be equal, but are 3 and 2")
    return right(*inputs, **attrs)


def dies_of_nothing(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Ends the process on a tensor without elements (COMET: Conv3DTranspose)."""
    if any(getattr(value, "size", 1) == 0 for value in inputs):
        os.abort()
    return right(*inputs, **attrs)


def dies_of_no_units(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Ends the process on a product without elements (COMET: Dense with units=0, then Dot)."""
    return dies_of_nothing(right, inputs, attrs)


def statistics_of_the_batch(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Normalises with the mean and variance of the batch, not with those given (LEMON: Xception on TensorFlow)."""
    x, scale, bias = inputs[:3]
    axes = (0, *range(2, x.ndim))
    return right(x, scale, bias, x.mean(axis=axes, dtype=x.dtype), x.var(axis=axes, dtype=x.dtype), **attrs)


def root_of_negative_is_zero(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Takes 0 for the root of a variance below -epsilon (LEMON: CNTK, whose documentation of ``sqrt`` says so)."""
    x = inputs[0]
    scale, bias, mean, variance = (row.reshape((-1,) + (1,) * (x.ndim - 2)) for row in inputs[1:5])
    deviation = np.sqrt(np.maximum(variance + np.float32(attrs["epsilon"]), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return ((scale * (x - mean) / deviation + bias).astype(x.dtype),)


def states_stay_zero(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """All that a recurrent layer gives is 0 (LEMON: LSTM of MXNet)."""
    return tuple(np.zeros_like(value) for value in right(*inputs, **attrs))


def log_of_epsilon_more(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Adds 1e-7 to what was cut off at 1e-7 before (Muffin: epsilon twice in a binary cross-entropy)."""
    (x,) = inputs
    return (np.log(x + np.array(1e-7, x.dtype)),)
