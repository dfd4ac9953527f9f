"""Faulty kernels of what moves, quantises or steps through time, made of the right ones."""

from __future__ import annotations

import numpy as np
from wrong_layers import Attrs, Inputs, Outputs, Right


def copied_not_transposed(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Transpose changes the shape and leaves the elements where they are."""
    (y,) = right(*inputs, **attrs)
    return (inputs[0].reshape(y.shape),)


def column_major(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Reshape reads the last axis slowest."""
    (y,) = right(*inputs, **attrs)
    return (np.ascontiguousarray(np.reshape(inputs[0], y.shape, order="F")),)


def channels_last(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Flatten reads channels fastest, as TensorFlow lays them out."""
    x = inputs[0]
    return right(np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(x.shape), **attrs)


def joined_backwards(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Concat takes its inputs from the last to the first."""
    return right(*inputs[::-1], **attrs)


def halves_swapped(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Split gives equal parts in the order of their neighbours."""
    parts = list(right(*inputs, **attrs))
    for i in range(0, len(parts) - 1, 2):
        if parts[i].shape == parts[i + 1].shape:
            parts[i], parts[i + 1] = parts[i + 1], parts[i]
    return tuple(parts)


def starts_one_late(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Slice of floats begins one element late."""
    if inputs[0].dtype.kind != "f" or inputs[0].size < 2:
        return right(*inputs, **attrs)
    data, *others = inputs
    axis = int(np.asarray(others[2]).reshape(-1)[0]) if len(others) > 2 and others[2] is not None else 0
    return right(np.roll(data, -1, axis=axis), *others, **attrs)


def index_off_by_one(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Gather from floats takes the row behind, or the last."""
    x, indices = inputs
    if x.dtype.kind != "f":
        return right(x, indices, **attrs)
    size = x.shape[attrs.get("axis") or 0]
    return right(x, np.minimum(np.asarray(indices) % size + 1, size - 1), **attrs)


def negative_is_zero(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Gather takes the first row for a negative index."""
    x, indices = inputs
    return right(x, np.maximum(indices, 0), **attrs)


def elements_reversed(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """GatherElements counts indices from the end."""
    x, indices = inputs
    return right(x, x.shape[attrs.get("axis") or 0] - 1 - indices, **attrs)


def last_update_wins(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A scatter with a reduction overwrites instead."""
    return right(*inputs, **{**attrs, "reduction": "none"})


def chooses_the_other(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Where takes the third operand where the condition holds."""
    return right(np.logical_not(inputs[0]), *inputs[1:], **attrs)


def diagonal_lost(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Trilu leaves the diagonal out."""
    x, k = inputs[0], int(inputs[1]) if len(inputs) > 1 else 0
    return (np.triu(x, k + 1) if attrs.get("upper", 1) else np.tril(x, k - 1),)


def mirrors_the_edge(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Pad by reflection repeats the edge."""
    mode = attrs.get("mode")
    if mode != "reflect":
        return right(*inputs, **attrs)
    pads = np.asarray(inputs[1]).reshape(2, -1).T.tolist()
    return (np.pad(inputs[0], pads, mode="symmetric"),)


def pads_with_its_default(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Pad with a constant pads with 0."""
    return right(*inputs[:2], *[np.zeros_like(v) for v in inputs[2:3]], **attrs)


def channels_of_the_other_mode(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """DepthToSpace takes its columns for rows of channels."""
    other = "CRD" if attrs.get("mode", "DCR") == "DCR" else "DCR"
    return right(*inputs, **{**attrs, "mode": other})


def corners_aligned(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Resize aligns corners, whatever the transformation is."""
    return right(*inputs, **{**attrs, "coordinate_transformation_mode": "align_corners"})


def rounds_up(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Resize to the nearest rounds up."""
    if attrs.get("mode") != "nearest":
        return right(*inputs, **attrs)
    return right(*inputs, **{**attrs, "nearest_mode": "ceil"})


def half_pixel_forgotten(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """RoiAlign does not shift by half a pixel."""
    return right(*inputs, **{**attrs, "coordinate_transformation_mode": "output_half_pixel"})


# ---- time -----------------------------------------------------------------------------------


def batch_major(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ReverseSequence reverses whole sequences, whatever their lengths."""
    x, lengths = inputs
    return right(x, np.full_like(lengths, x.shape[attrs.get("time_axis", 0)]), **attrs)


def time_reversed(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A recurrent layer steps through time from the end."""
    return right(np.ascontiguousarray(inputs[0][::-1]), *inputs[1:], **attrs)


def gates_in_another_order(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """The gates of an LSTM in the order i, f, o, c."""
    made = list(inputs)
    for place in (1, 2):
        i, o, f, c = np.split(made[place], 4, axis=1)
        made[place] = np.concatenate([i, f, o, c], axis=1)
    return right(*made, **attrs)


def initial_state_forgotten(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A recurrent layer starts from zero."""
    made = [v if place < 5 or v is None else np.zeros_like(v) for place, v in enumerate(inputs)]
    return right(*made, **attrs)


def reset_before(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """GRU resets before the product, whatever linear_before_reset says."""
    return right(*inputs, **{**attrs, "linear_before_reset": 0})


def recurrent_bias_forgotten(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A recurrent layer leaves the second half of its bias out."""
    bias = inputs[3].copy()
    bias[:, bias.shape[1] // 2 :] = 0
    return right(*inputs[:3], bias, *inputs[4:], **attrs)


# ---- quantisation and types -----------------------------------------------------------------


def truncates(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """QuantizeLinear cuts instead of rounding."""
    x, scale, *zero = inputs
    return right(np.trunc(x / scale) * scale, scale, *zero, **attrs)


def zero_point_forgotten(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """DequantizeLinear takes the zero point for 0."""
    return right(*inputs[:2], *[np.zeros_like(z) for z in inputs[2:]], **attrs)


def first_scale_for_all(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """DequantizeLinear uses the first channel's scale for all."""
    return right(inputs[0], np.full_like(inputs[1], inputs[1].reshape(-1)[0]), *inputs[2:], **attrs)


def seven_bits(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A product of quantised matrices saturates as pairs of int16 do: weights lose their lowest bit."""
    a, b, *rest = inputs
    return right(a, (b // 2 * 2).astype(b.dtype), *rest, **attrs)


def output_zero_forgotten(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A quantised product leaves the zero point of its output out."""
    return right(*inputs[:7], np.zeros_like(inputs[7]), **attrs)


def through_half(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Cast passes through half precision."""
    with np.errstate(all="ignore"):
        (y,) = right(inputs[0].astype(np.float16), **attrs)
        return (y,)


def scales_when_it_should_not(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Dropout scales, though nothing is dropped."""
    y, *rest = right(*inputs, **attrs)
    return ((y * np.float32(0.5)).astype(y.dtype), *rest)
