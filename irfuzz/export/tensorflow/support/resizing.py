# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Resampling of tensors."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from irfuzz.export.size_arithmetic.resized_axes import region_ends, resize_targets, resized_axes
from irfuzz.export.tensorflow.support.array_tensor_conversion import dims
from irfuzz.export.tensorflow.support.dtype_conversions import cast


def resize(
    x, roi=None, scales=None, sizes=None, axes=None, mode="nearest", coordinates="half_pixel",
    nearest="round_prefer_floor", cubic_a=-0.75, exclude_outside=0, extrapolation=0.0, antialias=0, policy="stretch",
):  # fmt: skip
    """ONNX Resize, one axis after the other, in float64 with one rounding at the end.

    If scales are given, align_corners and half_pixel_symmetric use the fractional target size, as ONNX's cases do.
    """
    rank, shape = len(x.shape), dims(x)
    axes = resized_axes(rank, axes)
    if mode != "nearest" and not x.dtype.is_floating:
        raise NotImplementedError(f"ONNX does not say how {mode} resizing rounds integers")
    if not all(isinstance(shape[a], int) for a in axes):
        raise NotImplementedError("sizes that the graph computes: only eager runs can read them")
    result = x if mode == "nearest" else tf.cast(x, tf.float64)
    outside = np.zeros((), bool)
    for i, (axis, scale, length, width) in enumerate(resize_targets(shape, scales, sizes, axes, policy)):
        size = shape[axis]
        at = source_coordinates(size, length, scale, width, region_ends(roi, i, len(axes)), coordinates)
        if mode == "nearest":
            result = tf.gather(result, nearest_index(at, nearest).clip(0, size - 1), axis=axis)
        elif not (scale == 1.0 and length == size and coordinates != "tf_crop_and_resize"):
            shrink = min(scale, 1.0) if antialias else 1.0
            result = interpolate(result, size, axis, at, shrink, mode, cubic_a, exclude_outside)
        if coordinates == "tf_crop_and_resize":
            outside = outside | ((at < 0) | (at > size - 1)).reshape(-1, *(1,) * (rank - 1 - axis))
    result = cast(result, x.dtype)
    return tf.where(outside, tf.constant(extrapolation, x.dtype), result) if outside.any() else result


def source_coordinates(size, length, scale, width, ends, coordinates):
    """Positions in the input of the ``length`` output elements, an array of float64."""
    at = np.arange(length, dtype=np.float64)
    if coordinates == "half_pixel":
        return (at + 0.5) / scale - 0.5
    if coordinates == "pytorch_half_pixel":
        return (at + 0.5) / scale - 0.5 if length > 1 else np.zeros_like(at)
    if coordinates == "half_pixel_symmetric":
        return size / 2 * (1 - length / width) + (at + 0.5) / scale - 0.5
    if coordinates == "align_corners":
        return at * (size - 1) / (width - 1) if length > 1 else np.zeros_like(at)
    if coordinates == "asymmetric":
        return at / scale
    if coordinates == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if coordinates == "tf_crop_and_resize":
        start, end = ends
        if length > 1:
            return start * (size - 1) + at * (end - start) * (size - 1) / (length - 1)
        return np.full_like(at, 0.5 * (start + end) * (size - 1))
    raise NotImplementedError(f"coordinate_transformation_mode {coordinates!r}")


def nearest_index(at, nearest):
    """Positions rounded to an element as ``nearest_mode`` says."""
    if nearest == "round_prefer_floor":
        at = np.ceil(at - 0.5)
    elif nearest == "round_prefer_ceil":
        at = np.floor(at + 0.5)
    elif nearest == "floor":
        at = np.floor(at)
    else:
        at = np.ceil(at)
    return at.astype(np.int64)


def interpolate(x, size, axis, at, shrink, mode, cubic_a, exclude_outside):
    """``x`` at fractional positions along ``axis`` of ``size``; the filter is stretched by 1 / ``shrink``."""
    reach = math.ceil((1 if mode == "linear" else 2) / shrink)
    taps = np.floor(at).reshape(-1, 1) + np.arange(1 - reach, reach + 1, dtype=np.float64)
    distance = np.abs((taps - at.reshape(-1, 1)) * shrink)
    if mode == "linear":
        weights = np.maximum(1 - distance, 0)
    else:
        weights = cubic_weights(distance, cubic_a)
    if exclude_outside:
        weights = np.where((taps < 0) | (taps > size - 1), 0.0, weights)
    if exclude_outside or shrink != 1.0:
        weights = weights / weights.sum(1, keepdims=True)
    places = taps.astype(np.int64).clip(0, size - 1)
    column = (-1, *(1,) * (len(x.shape) - 1 - axis))
    result = tf.zeros([], x.dtype)
    for k in range(places.shape[1]):
        result = result + tf.gather(x, places[:, k], axis=axis) * weights[:, k].reshape(column)
    return result


def cubic_weights(distance, a):
    """Weights of the cubic convolution with coefficient ``a`` at an array of distances."""
    d = distance
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))
