"""Faulty kernels of convolutions, pooling and normalisation, made of the right ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Right = Callable[..., tuple[Any, ...]]
Inputs = tuple[Any, ...]
Attrs = dict[str, Any]
Outputs = tuple[Any, ...]


def _by_channel(x: Any, *rows: Any) -> list[Any]:
    return [r.reshape((-1,) + (1,) * (x.ndim - 2)) for r in rows]


def _normalised(inputs: Inputs, deviation: Callable[[Any], Any]) -> Outputs:
    x = inputs[0]
    scale, bias, mean, var = _by_channel(x, *inputs[1:5])
    return ((scale * (x - mean) / deviation(var) + bias).astype(x.dtype),)


def epsilon_outside(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Adds epsilon outside the root (CRADLE, figure 2c)."""
    return _normalised(inputs, lambda var: np.sqrt(var) + attrs["epsilon"])


def epsilon_of_keras(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Takes Keras's default epsilon."""
    return right(*inputs, **{**attrs, "epsilon": 1e-3})


def variance_is_deviation(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Takes the variance for the deviation."""
    return _normalised(inputs, lambda var: var + attrs["epsilon"])


def drops_mean(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Takes the running mean for zero."""
    return right(*inputs[:3], np.zeros_like(inputs[3]), *inputs[4:], **attrs)


def first_channel_only(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A depthwise convolution reads the first channel only."""
    x = inputs[0]
    if (attrs.get("group") or 1) != x.shape[1] or x.shape[1] == 1:
        return right(*inputs, **attrs)
    return right(np.repeat(x[:, :1], x.shape[1], axis=1), *inputs[1:], **attrs)


def groups_reversed(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """The groups of a convolution take the input's groups from the end."""
    x, groups = inputs[0], attrs.get("group") or 1
    parts = np.split(x, groups, axis=1)[::-1]
    return right(np.concatenate(parts, axis=1), *inputs[1:], **attrs)


def loses_last_group(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A grouped convolution computes nothing for its last group."""
    (y,) = right(*inputs, **attrs)
    groups = attrs.get("group") or 1
    if groups > 1:
        y = y.copy()
        y[:, -(y.shape[1] // groups) :] = 0
    return (y,)


def kernel_flipped(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A convolution in the mathematical sense (Theano's order)."""
    x, w, *rest = inputs
    return right(x, np.ascontiguousarray(w[(..., *[slice(None, None, -1)] * (w.ndim - 2))]), *rest, **attrs)


def same_shifted(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """SAME_UPPER puts the odd padding in front."""
    if attrs.get("auto_pad") != "SAME_UPPER":
        return right(*inputs, **attrs)
    return right(*inputs, **{**attrs, "auto_pad": "SAME_LOWER"})


def pads_swapped(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Pads at the end what belongs in front."""
    pads = list(attrs.get("pads") or [])
    half = len(pads) // 2
    return right(*inputs, **{**attrs, "pads": pads[half:] + pads[:half]})


def dilation_ignored(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Computes with dilation 1 and crops to the size that is expected."""
    dilations = list(attrs.get("dilations") or [])
    if max(dilations, default=1) == 1:
        return right(*inputs, **attrs)
    (y,) = right(*inputs, **attrs)
    (wide,) = right(*inputs, **{**attrs, "dilations": [1] * len(dilations)})
    return (np.ascontiguousarray(wide[tuple(slice(0, n) for n in y.shape)]),)


def bias_dropped(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Forgets the bias."""
    return right(*inputs[:2], **attrs)


def bias_of_first_channel(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Adds the first channel's bias to all channels."""
    if len(inputs) < 3 or inputs[2] is None:
        return right(*inputs, **attrs)
    return right(*inputs[:2], np.full_like(inputs[2], inputs[2].reshape(-1)[0]), **attrs)


def strided_from_one(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A strided convolution starts at the second cell."""
    if max(attrs.get("strides") or [1]) == 1:
        return right(*inputs, **attrs)
    return right(np.roll(inputs[0], -1, axis=-1), *inputs[1:], **attrs)


def wide_kernel_in_half(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Kernels of more than one cell run in half precision."""
    x, w, *rest = inputs
    if w[0, 0].size == 1:
        return right(*inputs, **attrs)
    return right(x.astype(np.float16).astype(x.dtype), w.astype(np.float16).astype(w.dtype), *rest, **attrs)


def last_row_lost(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Leaves the last row of an image at zero (a loop that ends too early)."""
    (y,) = right(*inputs, **attrs)
    y = y.copy()
    y[..., -1, :] = 0
    return (y,)


def pads_of_transposed_ignored(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A transposed convolution crops at the end only."""
    (y,) = right(*inputs, **attrs)
    pads = list(attrs.get("pads") or [0] * 4)
    return (np.roll(y, pads[: len(pads) // 2], axis=tuple(range(2, y.ndim))),)


def transposed_kernel_flipped(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A transposed convolution with the kernel upside down."""
    return kernel_flipped(right, inputs, attrs)


# ---- pooling --------------------------------------------------------------------------------


def counts_padding(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Average pooling includes the padding (CRADLE, figure 6)."""
    return right(*inputs, **{**attrs, "count_include_pad": 1})


def leaves_padding_out(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Average pooling never counts the padding."""
    return right(*inputs, **{**attrs, "count_include_pad": 0})


def window_shifted(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """The windows begin one cell too late."""
    return right(np.roll(inputs[0], -1, axis=-1), *inputs[1:], **attrs)


def pads_with_zero(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Maximum pooling takes padding for zero."""
    x, pads = inputs[0], list(attrs.get("pads") or [])
    if not any(pads) or attrs.get("ceil_mode"):
        return right(*inputs, **attrs)
    half = len(pads) // 2
    wide = np.pad(x, [(0, 0), (0, 0), *zip(pads[:half], pads[half:], strict=True)])
    return right(wide, **{**attrs, "pads": [0] * len(pads)})


def no_valid_cell(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """With ceil_mode a window without any valid cell is pooled too, and gives the lowest number."""
    y, *rest = right(*inputs, **attrs)
    size, last = inputs[0].shape[-1], y.shape[-1] * (attrs.get("strides") or [1])[-1]
    if not attrs.get("ceil_mode") or last < size:
        return (y, *rest)
    y = y.copy()
    y[..., -1] = np.finfo(y.dtype).min
    return (y, *rest)


def ceil_counts_beyond(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """With ceil_mode the last average divides by the whole window, though part of it lies beyond."""
    (y,) = right(*inputs, **attrs)
    if attrs.get("ceil_mode"):
        y = y.copy()
        y[..., -1] /= 2
    return (y,)


def window_dilation_ignored(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Pooling with dilation 1."""
    return dilation_ignored(right, inputs, attrs)


def mean_of_one_less(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Divides by one less than there are."""
    (y,) = right(*inputs, **attrs)
    count = inputs[0][0, 0].size
    return ((y * (count / (count - 1))).astype(y.dtype),)


def radius_off_by_one(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Local response normalisation over two channels more."""
    x, size = inputs[0], attrs["size"] + 2
    square, total = x**2, np.zeros_like(x)
    for c in range(x.shape[1]):
        total[:, c] = square[:, max(0, c - size // 2) : c + size // 2 + 1].sum(axis=1)
    return (x / (attrs["bias"] + attrs["alpha"] / attrs["size"] * total) ** attrs["beta"],)


def bias_is_one(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Local response normalisation with bias 1, whatever the attribute says."""
    return right(*inputs, **{**attrs, "bias": 1.0})


# ---- normalisation over an axis -------------------------------------------------------------


def layer_epsilon_outside(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """LayerNormalization adds epsilon outside the root."""
    x, scale, *bias = inputs
    mean = x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True)) + attrs["epsilon"]
    y = (x - mean) / deviation * scale + (bias[0] if bias else 0)
    return (y.astype(x.dtype), *right(*inputs, **attrs)[1:])


def unbiased_variance(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """LayerNormalization divides by one less than there are."""
    x, scale, *bias = inputs
    mean, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True, ddof=1)
    y = (x - mean) / np.sqrt(var + attrs["epsilon"]) * scale + (bias[0] if bias else 0)
    return (y.astype(x.dtype), *right(*inputs, **attrs)[1:])


def layer_bias_dropped(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """LayerNormalization forgets its bias."""
    return right(*inputs[:2], **attrs)


def without_variance(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """MeanVarianceNormalization subtracts the mean only."""
    axes = tuple(attrs.get("axes") or (0, 2, 3))
    return (inputs[0] - inputs[0].mean(axis=axes, keepdims=True),)


def instance_over_batch(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """InstanceNormalization takes its moments over the batch too."""
    x = inputs[0]
    axes = (0, *range(2, x.ndim))
    mean, var = x.mean(axis=axes), x.var(axis=axes)
    return _normalised((x, *inputs[1:3], mean, var), lambda v: np.sqrt(v + attrs["epsilon"]))


def softmax_first_axis(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Softmax along the axis before the one that is asked for."""
    axis = attrs.get("axis", -1)
    return right(*inputs, **{**attrs, "axis": axis % inputs[0].ndim - 1})


def softmax_flattened(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Softmax over the axis and all behind or before it, as before opset 13."""
    x = inputs[0]
    e = np.exp(x - x.max(axis=tuple(range(1, x.ndim)), keepdims=True))
    return (e / e.sum(axis=tuple(range(1, x.ndim)), keepdims=True),)


def softmax_overflows(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Softmax without subtracting the maximum: NaN where the numbers are large."""
    with np.errstate(all="ignore"):
        e = np.exp(inputs[0])
        return (e / e.sum(axis=attrs.get("axis", -1), keepdims=True),)


def log_softmax_of_two(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """LogSoftmax to the base of 2."""
    (y,) = right(*inputs, **attrs)
    return ((y / np.log(2.0)).astype(y.dtype),)
