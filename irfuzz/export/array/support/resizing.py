# pyright: basic
"""Resampling along axes; weighted sums are of float64 and rounded once."""

from __future__ import annotations

import math

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, doubled, ints, is_real
from irfuzz.export.size_arithmetic.resized_axes import region_ends, resize_targets, resized_axes


def resize(
    x, roi=None, scales=None, sizes=None, axes=None, mode="nearest", coordinate_transformation_mode="half_pixel",
    nearest_mode="round_prefer_floor", cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, antialias=0,
    keep_aspect_ratio_policy="stretch",
):  # fmt: skip
    """ONNX Resize, one axis after the other; weighted sums in float64 with one rounding at the end."""
    axes, coordinates, nearest = resized_axes(x.ndim, axes), coordinate_transformation_mode, nearest_mode
    cropped = coordinates == "tf_crop_and_resize"
    targets = resize_targets(x.shape, ints(scales), ints(sizes), axes, keep_aspect_ratio_policy)
    if mode != "nearest" and not is_real(x.dtype):
        raise NotImplementedError(f"ONNX does not say how {mode} resizing rounds integers")
    result = x if mode == "nearest" else doubled(x)
    beyond = np.zeros((), np.bool_)
    for place, (axis, factor, length, real) in enumerate(targets):
        size, region = x.shape[axis], region_ends(ints(roi) if cropped else None, place, len(axes))
        at = origins(coordinates, np.arange(length, dtype=np.float64), size, length, factor, real, region)
        if mode == "nearest":
            result = np.take(result, np.clip(snapped(at, nearest), 0, size - 1), axis)
        elif factor != 1.0 or length != size or cropped:
            filters = shares(at, size, min(factor, 1.0) if antialias else 1.0, mode, cubic_coeff_a, exclude_outside)
            result = np.moveaxis(np.tensordot(filters, result, (1, axis)), 0, axis)
        if cropped:
            beyond = beyond | ((at < 0) | (at > size - 1)).reshape((-1, *[1] * (x.ndim - 1 - axis)))
    return np.where(beyond, np.array(extrapolation_value).astype(x.dtype), cast(result, x.dtype))


def upsample(x, scales, mode="nearest"):
    """ONNX Upsample, and Resize of opset 10: places x / scale, rounded down if nearest."""
    return resize(x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def origins(coordinates, i, size, length, factor, real, region):
    """Where in x the elements ``i`` of the result lie."""
    if coordinates == "asymmetric":
        return i / factor
    if coordinates == "tf_half_pixel_for_nn":
        return (i + 0.5) / factor
    if coordinates == "align_corners":
        return i * ((size - 1) / (real - 1)) if length > 1 else 0 * i
    if coordinates == "tf_crop_and_resize":
        first, last = (end * (size - 1) for end in region)
        return first + i * (last - first) / (length - 1) if length > 1 else 0 * i + (first + last) / 2
    half = (i + 0.5) / factor - 0.5
    if coordinates == "half_pixel_symmetric":
        return half + size / 2 * (1 - length / real)
    if coordinates == "pytorch_half_pixel" and length <= 1:
        return 0 * i
    return half


def snapped(at, nearest):
    """Places rounded to an element as ``nearest_mode`` says."""
    if nearest == "floor":
        return np.floor(at).astype(np.int64)
    if nearest == "ceil":
        return np.ceil(at).astype(np.int64)
    return (np.ceil(at - 0.5) if nearest == "round_prefer_floor" else np.floor(at + 0.5)).astype(np.int64)


def shares(at, size, shrink, mode, a, exclude_outside):
    """A matrix (result, x) of how much of each element each place gets; the filter is 1 / ``shrink`` as wide."""
    reach = math.ceil((1 if mode == "linear" else 2) / shrink)
    near = np.floor(at)[:, None] + np.arange(1 - reach, reach + 1)
    d = np.abs(near - at[:, None]) * shrink
    if mode == "linear":
        share = np.maximum(1 - d, 0)
    else:
        inner, outer = (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4)
        share = np.where(d <= 1, inner, np.where(d < 2, outer, 0.0))
    if exclude_outside:
        share = np.where((near < 0) | (near >= size), 0.0, share)
    if exclude_outside or shrink != 1.0:
        share = share / np.sum(share, 1, keepdims=True)
    column = np.clip(near, 0, size - 1).astype(np.int64)
    return np.sum(np.where(column[:, :, None] == np.arange(size), share[:, :, None], 0.0), 1)
