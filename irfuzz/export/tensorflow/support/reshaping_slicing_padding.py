# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Operators that give the same elements in another shape or order."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from irfuzz.export.size_arithmetic.result_shapes import depth_steps, flat_sizes, reshaped_sizes, space_steps
from irfuzz.export.size_arithmetic.slice_and_pad_positions import (
    centered_amounts,
    equal_parts,
    pad_amounts,
    range_count,
    slice_plan,
)
from irfuzz.export.tensorflow.support.array_tensor_conversion import dims, known, sizes_of
from irfuzz.export.tensorflow.support.dtype_conversions import bits, unbits


def reshape(x, shape, allowzero=0):
    """ONNX Reshape: 0 copies a size unless ``allowzero``, -1 is inferred."""
    sizes = reshaped_sizes(x.shape, shape, allowzero, lambda: math.prod(sizes_of(x)))
    return tf.reshape(x, tf.constant(sizes, tf.int64, (len(sizes),)))


def squeeze(x, axes=None):
    """ONNX Squeeze: drop the axes given, else all of size 1."""
    sizes = dims(x)
    if axes is None:
        axes = [i for i, n in enumerate(sizes_of(x)) if n == 1]
    dropped = sorted({a % len(sizes) for a in axes})
    return tf.squeeze(x, dropped) if dropped else x


def unsqueeze(x, axes):
    """ONNX Unsqueeze: axes count in the result."""
    rank = len(x.shape) + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = tf.expand_dims(x, axis)
    return x


def flatten(x, axis):
    """ONNX Flatten to (before axis, from axis on)."""
    return tf.reshape(x, flat_sizes(sizes_of(x), axis))


def expand(x, shape):
    """ONNX Expand: broadcast x and ``shape`` against each other."""
    return tf.broadcast_to(x, tf.constant(np.broadcast_shapes(tuple(sizes_of(x)), shape), tf.int64))


def tile(x, repeats):
    """ONNX Tile."""
    return unbits(tf.tile(bits(x), tf.constant(repeats, tf.int64, (len(repeats),))), x.dtype)


def split_equal(x, count, axis):
    """ONNX Split into ``count`` parts of equal size, the last one smaller if it does not divide."""
    return tf.split(x, equal_parts(sizes_of(x)[axis], count), axis)


def slice_(x, starts, ends, axes=None, steps=None):
    """ONNX Slice: clamped like Python's slices, negative steps included."""
    sizes = sizes_of(x)
    cuts = [slice(None)] * len(sizes)
    for axis, first, count, step in slice_plan(sizes, starts, ends, axes, steps):
        stop = first + count * step
        # Without a stop where it would stand before the first element, which -1 cannot say.
        cuts[axis] = slice(first, None if stop < 0 else stop, step) if count else slice(0, 0)
    return x[tuple(cuts)] if cuts else x


def pad(x, pads, mode="constant", value=None, axes=None):
    """ONNX Pad: ``pads`` are all beginnings, then all ends; negative ones crop."""
    around = pad_amounts(len(x.shape), pads, axes)
    if mode == "constant":
        fill = tf.zeros((), x.dtype) if value is None else tf.reshape(value, ())
        return pad_constant(x, around, fill)
    sizes = sizes_of(x)
    for axis, (before, after) in enumerate(around):
        if before == 0 and after == 0:
            continue
        size = sizes[axis]
        places = np.arange(-before, size + after)
        if mode == "reflect":
            period = max(2 * (size - 1), 1)
            folded = places % period
            inside = np.minimum(folded, period - folded) if size > 1 else np.zeros_like(places)
        elif mode == "wrap":
            inside = places % size
        else:
            inside = np.clip(places, 0, max(size - 1, 0))
        x = tf.gather(x, inside, axis=axis)
    return x


def pad_constant(x, around, fill):
    """X with each axis extended by ``fill``, or cropped if the amount is negative."""
    cropped = [
        slice(max(-before, 0), None if n is None else max(n + min(after, 0), 0))
        for n, (before, after) in zip(dims(x), around, strict=True)
    ]
    if any(before < 0 or after < 0 for before, after in around):
        x = x[tuple(cropped)]
    room = [(max(before, 0), max(after, 0)) for before, after in around]
    return tf.pad(x, room, constant_values=fill) if any(a or b for a, b in room) else x


def pad_with(x, pads, value, mode="constant"):
    """ONNX Pad before opset 11, whose padding value is a number."""
    return pad(x, pads, mode, tf.constant(value, x.dtype))


def space_to_depth(x, block, mode="DCR"):
    """ONNX SpaceToDepth on (N, C, H, W): blocks before channels (DCR) or after (CRD)."""
    split, order, shape = space_steps(sizes_of(x), block, mode)
    return tf.reshape(tf.transpose(tf.reshape(x, split), order), shape)


def depth_to_space(x, block, mode):
    """ONNX DepthToSpace on (N, C, H, W): blocks before channels (DCR) or after (CRD)."""
    split, order, shape = depth_steps(sizes_of(x), block, mode)
    return tf.reshape(tf.transpose(tf.reshape(x, split), order), shape)


def filled(shape, value):
    """ONNX ConstantOfShape: the one element of ``value`` everywhere."""
    return tf.fill(tf.constant(shape, tf.int64, (len(shape),)), tf.reshape(value, ()))


def range_(start, limit, delta):
    """ONNX Range: start + i * delta up to ``limit``; half types are computed in float32."""
    first, last, step = known(start), known(limit), known(delta)
    count = range_count(first, last, step)
    if start.dtype.is_floating:
        wide = tf.float64 if start.dtype == tf.float64 else tf.float32
        steps = tf.range(count, dtype=wide) * tf.cast(tf.reshape(delta, ()), wide)
        return tf.cast(tf.cast(tf.reshape(start, ()), wide) + steps, start.dtype)
    return tf.cast(tf.constant(first, tf.int64) + tf.range(count, dtype=tf.int64) * step, start.dtype)


def eye_like(x, k, dtype):
    """ONNX EyeLike: ones on diagonal ``k`` of a matrix shaped like x."""
    rows, columns = sizes_of(x)
    return tf.cast(tf.constant(np.eye(rows, columns, k)), dtype)


def trilu(x, k, upper):
    """ONNX Trilu: the part of each matrix on and above (or below) diagonal ``k``, else 0."""
    k = k if isinstance(k, int) else known(k)
    rows, columns = np.arange(sizes_of(x)[-2]).reshape(-1, 1), np.arange(sizes_of(x)[-1])
    keep = columns - rows >= k if upper else columns - rows <= k
    return tf.where(keep, x, tf.zeros_like(x))


def non_zero(x):
    """ONNX NonZero: indices as (rank, count), row-major; a scalar gives (0, count)."""
    return tf.transpose(tf.where(x if x.dtype == tf.bool else tf.not_equal(x, tf.zeros((), x.dtype))))


def center_crop_pad(x, shape, axes=None):
    """ONNX CenterCropPad: crop or pad each axis around its centre to the size given, with zeros."""
    around = centered_amounts(sizes_of(x), shape, axes)
    return pad_constant(x, around, tf.zeros((), x.dtype))


def compress(x, condition, axis=None):
    """ONNX Compress: the slices along ``axis`` (elements if absent) at which ``condition`` holds."""
    if axis is None:
        x, axis = tf.reshape(x, (-1,)), 0
    return tf.gather(x, tf.reshape(tf.where(condition), (-1,)), axis=axis)


def reverse_sequence(x, lengths, batch_axis, time_axis):
    """ONNX ReverseSequence: the first ``lengths[b]`` steps of item b in reverse, the rest unchanged."""
    if len(x.shape) > 5:  # more than its kernel knows; both axes are among the first two
        sizes = dims(x)
        few = tf.reshape(x, [*sizes[:2], math.prod(sizes[2:])])
        return tf.reshape(reverse_sequence(few, lengths, batch_axis, time_axis), sizes)
    return tf.reverse_sequence(x, lengths, seq_axis=time_axis, batch_axis=batch_axis)
