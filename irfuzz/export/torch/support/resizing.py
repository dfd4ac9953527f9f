# pyright: basic
"""Resampling of tensors."""

from __future__ import annotations

import math

import torch

from irfuzz.export.size_arithmetic.resized_axes import region_ends, resize_targets, resized_axes
from irfuzz.export.torch.support.dtype_conversions import bits, unbits


def resize(
    x, roi=None, scales=None, sizes=None, axes=None, mode="nearest", coordinates="half_pixel",
    nearest="round_prefer_floor", cubic_a=-0.75, exclude_outside=0, extrapolation=0.0, antialias=0, policy="stretch",
):  # fmt: skip
    """ONNX Resize, one axis after the other, in float64 with one rounding at the end.

    If scales are given, align_corners and half_pixel_symmetric use the fractional target size, as ONNX's cases do.
    """
    axes = resized_axes(x.dim(), axes)
    result = bits(x) if mode == "nearest" else x.double()
    if mode != "nearest" and not x.dtype.is_floating_point:
        raise NotImplementedError(f"ONNX does not say how {mode} resizing rounds integers")
    outside = torch.zeros((), dtype=torch.bool)
    for i, (axis, scale, length, width) in enumerate(resize_targets(x.shape, scales, sizes, axes, policy)):
        size = x.shape[axis]
        at = source_coordinates(size, length, scale, width, region_ends(roi, i, len(axes)), coordinates)
        column = (-1, *(1,) * (x.dim() - 1 - axis))
        if mode == "nearest":
            result = result.index_select(axis, nearest_index(at, nearest).clamp(0, size - 1))
        elif not (scale == 1.0 and length == size and coordinates != "tf_crop_and_resize"):
            shrink = min(scale, 1.0) if antialias else 1.0
            result = interpolate(result, axis, at, shrink, mode, cubic_a, exclude_outside)
        if coordinates == "tf_crop_and_resize":
            outside = outside | ((at < 0) | (at > size - 1)).reshape(column)
    result = unbits(result, x.dtype) if mode == "nearest" else result.to(x.dtype)
    if bool(outside.any()):
        result = torch.where(outside, torch.tensor(extrapolation, dtype=x.dtype), result)
    return result


def source_coordinates(size, length, scale, width, ends, coordinates):
    """Positions in the input of the ``length`` output elements, float64."""
    at = torch.arange(length, dtype=torch.float64)
    if coordinates == "half_pixel":
        return (at + 0.5) / scale - 0.5
    if coordinates == "pytorch_half_pixel":
        return (at + 0.5) / scale - 0.5 if length > 1 else torch.zeros_like(at)
    if coordinates == "half_pixel_symmetric":
        return size / 2 * (1 - length / width) + (at + 0.5) / scale - 0.5
    if coordinates == "align_corners":
        return at * (size - 1) / (width - 1) if length > 1 else torch.zeros_like(at)
    if coordinates == "asymmetric":
        return at / scale
    if coordinates == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if coordinates == "tf_crop_and_resize":
        start, end = ends
        if length > 1:
            return start * (size - 1) + at * (end - start) * (size - 1) / (length - 1)
        return torch.full_like(at, 0.5 * (start + end) * (size - 1))
    raise NotImplementedError(f"coordinate_transformation_mode {coordinates!r}")


def nearest_index(at, nearest):
    """Positions rounded to an element as ``nearest_mode`` says."""
    if nearest == "round_prefer_floor":
        at = torch.ceil(at - 0.5)
    elif nearest == "round_prefer_ceil":
        at = torch.floor(at + 0.5)
    elif nearest == "floor":
        at = torch.floor(at)
    else:
        at = torch.ceil(at)
    return at.to(torch.int64)


def interpolate(x, axis, at, shrink, mode, cubic_a, exclude_outside):
    """``x`` at fractional positions along ``axis``; the filter is stretched by 1 / ``shrink`` (antialias)."""
    size = x.shape[axis]
    reach = math.ceil((1 if mode == "linear" else 2) / shrink)
    base = torch.floor(at)
    taps = base.reshape(-1, 1) + torch.arange(1 - reach, reach + 1, dtype=torch.float64)
    distance = ((taps - at.reshape(-1, 1)) * shrink).abs()
    if mode == "linear":
        weights = torch.clamp(1 - distance, min=0)
    else:
        a, d = cubic_a, distance
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((d - 5) * d + 8) * d * a - 4 * a
        weights = torch.where(d <= 1, near, torch.where(d < 2, far, torch.zeros_like(d)))
    if exclude_outside:
        weights = torch.where((taps < 0) | (taps > size - 1), torch.zeros_like(weights), weights)
    if exclude_outside or shrink != 1.0:
        weights = weights / weights.sum(1, keepdim=True)
    places = taps.to(torch.int64).clamp(0, size - 1)
    column = (-1, *(1,) * (x.dim() - 1 - axis))
    result = torch.zeros((), dtype=x.dtype)
    for k in range(places.shape[1]):
        result = result + x.index_select(axis, places[:, k]) * weights[:, k].reshape(column)
    return result
