# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Samples images at places, and puts elements at places."""

from __future__ import annotations

import itertools
import math

import numpy as np
import tensorflow as tf

from irfuzz.export.size_arithmetic.window_sizes import column_plan, unpooled_sizes
from irfuzz.export.tensorflow.support.array_tensor_conversion import dims, known
from irfuzz.export.tensorflow.support.convolutions_and_pools import add_windows
from irfuzz.export.tensorflow.support.dtype_conversions import cast, single


def affine_grid(theta, size, align_corners=0):
    """ONNX AffineGrid."""
    spatial = size[2:]
    axes = []
    for n in spatial:
        if align_corners:
            axes.append(np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(n))
        else:
            axes.append((2 * np.arange(n) + 1.0) / n - 1)
    # The last axis comes first among coordinates.
    places = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(spatial)], -1).reshape(-1, len(spatial) + 1)
    grid = tf.matmul(places, tf.cast(theta, tf.float64), transpose_b=True)
    return cast(tf.reshape(grid, [size[0], *spatial, len(spatial)]), theta.dtype)


def grid_sample(x, grid, mode, padding, align_corners=0):
    """ONNX GridSample of one to three spatial axes, in float64 with one rounding at the end."""
    rank = len(x.shape) - 2
    if not x.dtype.is_floating or not 1 <= rank <= 3 or (mode == "bicubic" and rank != 2):
        raise NotImplementedError(f"no exact {mode} sampling of {x.dtype.name} in {rank} dimensions")
    sizes, places = dims(x)[2:], tf.cast(grid, tf.float64)
    taps = []
    for i, size in enumerate(sizes):
        at = places[..., rank - 1 - i]
        at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
        if mode != "bicubic":
            at = kept_inside(at, size, padding, align_corners)
        taps.append(axis_taps(at, size, mode, padding, align_corners))
    image = tf.reshape(tf.cast(x, tf.float64), [*dims(x)[:2], math.prod(sizes)])
    return cast(weighted_taps(image, taps, sizes), x.dtype)


def kept_inside(at, size, padding, align_corners):
    """Places brought into an axis of ``size``: clamped (border), mirrored (reflection) or left alone (zeros)."""
    if padding == "reflection":
        low, span = (0.0, size - 1) if align_corners else (-0.5, size)
        if span == 0:
            return tf.zeros_like(at)
        # Mirrors at both ends: a triangle wave.
        phase = tf.math.floormod(at - low, 2 * span)
        at = low + tf.minimum(phase, 2 * span - phase)
    return at if padding == "zeros" else tf.clip_by_value(at, 0, size - 1)


def axis_taps(at, size, mode, padding, align_corners):
    """(index, weight) of the elements along one axis that places are made of."""
    if mode == "nearest":
        pairs = [(tf.round(at), tf.ones_like(at))]
    elif mode == "bilinear":
        low = tf.floor(at)
        pairs = [(low, 1 - (at - low)), (low + 1, at - low)]
    else:
        low = tf.floor(at)
        part, a = at - low, -0.75
        near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (part, 1 - part)]
        far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (part + 1, 2 - part)]
        pairs = [(low - 1, far[0]), (low, near[0]), (low + 1, near[1]), (low + 2, far[1])]
        pairs = [(kept_inside(index, size, padding, align_corners), weight) for index, weight in pairs]
    result = []
    for index, weight in pairs:
        # NaN is inside, so that it shows; elements outside never count, not even infinite weights of theirs.
        inside = ~((index < 0) | (index > size - 1))
        place = tf.cast(
            tf.clip_by_value(tf.where(tf.math.is_nan(index), tf.zeros_like(index), index), 0, size - 1), tf.int64
        )
        result.append((place, weight, inside))
    return result


def weighted_taps(image, taps, sizes):
    """Sums over every combination of taps of all axes of (N, C, elements) at (N, *places): (N, C, *places)."""
    total = None
    for chosen in itertools.product(*taps):
        index, weight, inside = 0, 1, True
        for (place, share, within), size in zip(chosen, sizes, strict=True):
            index, weight, inside = index * size + place, weight * share, within & inside
        shape = dims(index)
        values = tf.gather(image, tf.reshape(index, [shape[0], math.prod(shape[1:])]), axis=2, batch_dims=1)
        values = tf.reshape(values, [*dims(image)[:2], *shape[1:]])
        term = values * tf.expand_dims(weight, 1)
        term = tf.where(tf.expand_dims(inside, 1), term, tf.zeros_like(term))
        total = term if total is None else total + term
    return total


def max_unpool(x, index, kernel, strides=None, pads=None):
    """ONNX MaxUnpool without output_shape: elements at linear indices, zeros elsewhere."""
    shape = dims(x)
    sizes = unpooled_sizes(shape[2:], kernel, strides, pads)
    empty = tf.zeros([math.prod([*shape[:2], *sizes])], x.dtype)
    result = tf.tensor_scatter_nd_update(empty, tf.reshape(index, [-1, 1]), tf.reshape(x, [-1]))
    return tf.reshape(result, [*shape[:2], *sizes])


def col2im(x, image, block, strides=None, dilations=None, pads=None):
    """ONNX Col2Im: columns (N, C * blocks, L) added up into (N, C, *image)."""
    strides, dilations, padded, counts, inside = column_plan(image, block, strides, dilations, pads)
    shape = dims(x)
    source = tf.cast(x, tf.int32) if x.dtype == tf.bool else single(x)
    columns = tf.reshape(source, [shape[0], shape[1] // math.prod(block), *block, *counts])
    result = add_windows(columns, padded, strides, dilations)[inside]
    return tf.cast(result, x.dtype)


def roi_align(x, rois, images, height=1, width=1, ratio=0, scale=1.0, mode="avg", half_pixel=1):
    """ONNX RoiAlign; ``max`` is taken of the weighted corners, as ONNX's cases have it."""
    shape = dims(x)
    picked = tf.cast(tf.gather(x, images), tf.float64)
    shift = 0.5 if half_pixel else 0.0
    corners = tf.cast(rois, tf.float64) * scale - shift
    rows = []
    for row in range(dims(rois)[0]):
        cells = []
        for axis, count in ((1, height), (0, width)):
            start, extent = corners[row, axis], corners[row, axis + 2] - corners[row, axis]
            extent = extent if half_pixel else tf.maximum(extent, 1.0)
            samples = ratio if ratio > 0 else math.ceil(known(extent / count))
            steps = tf.range(count * max(samples, 0), dtype=tf.float64) + 0.5
            at = start + steps * extent / (count * max(samples, 1))
            cells.append((max(samples, 0), roi_corners(at, shape[3 - axis])))
        (down, (y_low, y_high, y_part, y_in)), (right, (x_low, x_high, x_part, x_in)) = cells
        if down * right == 0:
            rows.append(tf.zeros([shape[1], height, width], tf.float64))
            continue
        inside = tf.cast(y_in[:, None] & x_in[None, :], tf.float64)
        terms = [
            tf.gather(tf.gather(picked[row], a, axis=1), b, axis=2) * (p[:, None] * q[None, :] * inside)
            for a, p in ((y_low, 1 - y_part), (y_high, y_part))
            for b, q in ((x_low, 1 - x_part), (x_high, x_part))
        ]
        both = tf.stack(terms)
        both = tf.reduce_max(both, 0) if mode == "max" else tf.reduce_sum(both, 0)
        both = tf.reshape(both, [shape[1], height, down, width, right])
        rows.append(tf.reduce_max(both, [2, 4]) if mode == "max" else tf.reduce_sum(both, [2, 4]) / (down * right))
    return cast(tf.stack(rows), x.dtype) if rows else tf.zeros([0, shape[1], height, width], x.dtype)


def roi_corners(at, size):
    """Lower and upper neighbour of each place, the upper one's weight, and whether the place counts at all."""
    inside = (at >= -1.0) & (at <= size)
    at = tf.clip_by_value(at, 0, size - 1)
    low = tf.cast(tf.floor(at), tf.int64)
    return low, tf.minimum(low + 1, size - 1), at - tf.floor(at), inside


def deform_conv(
    x, w, offset, b=None, mask=None, *, strides=None, dilations=None, pads=None, group=1, offset_group=1
):  # fmt: skip
    """ONNX DeformConv over any number of spatial axes, in float64 with one rounding at the end."""
    shape, filters, out = dims(x), dims(w), dims(offset)[2:]
    rank, kernel, sizes = len(shape) - 2, filters[2:], shape[2:]
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    n, c, taps = shape[0], shape[1], math.prod(kernel)
    shifts = tf.reshape(tf.cast(offset, tf.float64), [n * offset_group, taps, rank, *out])
    image = tf.reshape(tf.cast(x, tf.float64), [n * offset_group, c // offset_group, math.prod(sizes)])
    columns = []
    for tap, place in enumerate(itertools.product(*map(range, kernel))):
        corners = []
        for i in range(rank):
            start = np.arange(out[i], dtype=np.float64) * strides[i] - pads[i] + place[i] * dilations[i]
            at = shifts[:, tap, i] + start.reshape(-1, *[1] * (rank - 1 - i))
            corners.append(axis_taps(at, sizes[i], "bilinear", "zeros", 0))
        columns.append(weighted_taps(image, corners, sizes))
    stacked = tf.reshape(tf.stack(columns, 2), [n, offset_group, c // offset_group, taps, *out])
    if mask is not None:
        stacked = stacked * tf.reshape(tf.cast(mask, tf.float64), [n, offset_group, 1, taps, *out])
    stacked = tf.reshape(stacked, [n, group, c // group * taps, math.prod(out)])
    weights = tf.reshape(tf.cast(w, tf.float64), [group, filters[0] // group, filters[1] * taps])
    result = tf.reshape(tf.matmul(weights, stacked), [n, filters[0], *out])
    if b is not None:
        result = result + tf.reshape(tf.cast(b, tf.float64), [-1, *[1] * rank])
    return cast(result, x.dtype)
