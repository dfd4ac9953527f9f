# pyright: basic
"""Moves of elements into another shape, order or number."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, doubled, ints, is_real, number
from irfuzz.export.size_arithmetic.result_shapes import depth_steps, flat_sizes, reshaped_sizes, space_steps
from irfuzz.export.size_arithmetic.slice_and_pad_positions import (
    centered_amounts,
    equal_parts,
    pad_amounts,
    range_count,
    slice_plan,
)


def reshape(x, shape, allowzero=0):
    """ONNX Reshape: 0 copies a size unless ``allowzero``, -1 is inferred."""
    return np.reshape(x, reshaped_sizes(x.shape, ints(shape), allowzero, lambda: x.size))


def squeeze(x, axes=None):
    """ONNX Squeeze: drop the axes given, else all of size 1."""
    return np.squeeze(x, None if axes is None else ints(axes))


def unsqueeze(x, axes):
    """ONNX Unsqueeze: axes count in the result."""
    return np.expand_dims(x, ints(axes))


def flatten(x, axis):
    """ONNX Flatten to (before axis, from axis on)."""
    return np.reshape(x, flat_sizes(x.shape, axis))


def expand(x, shape):
    """ONNX Expand: broadcast x and ``shape`` against each other."""
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, ints(shape)))


def tile(x, repeats):
    """ONNX Tile."""
    return np.tile(x, ints(repeats))


def split(count, x, split=None, axis=0):
    """ONNX Split by sizes, or into ``count`` parts of equal size, the last ones smaller if it does not divide."""
    sizes = ints(split) or equal_parts(x.shape[axis], count)
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def slice_(x, starts, ends, axes=None, steps=None):
    """ONNX Slice: clamped like Python's slices, negative steps included."""
    axes, steps = (None if given is None else ints(given) for given in (axes, steps))
    for axis, first, count, step in slice_plan(x.shape, ints(starts), ints(ends), axes, steps):
        x = np.take(x, first + step * np.arange(count), axis)
    return x


def pad(x, pads, value=None, axes=None, mode="constant"):
    """ONNX Pad: ``pads`` are all beginnings, then all ends; negative ones crop."""
    fill = np.array(0 if value is None else value, x.dtype).reshape(())
    for axis, (before, after) in enumerate(pad_amounts(x.ndim, ints(pads), None if axes is None else ints(axes))):
        if before == after == 0:
            continue
        size = x.shape[axis]
        at = np.arange(-before, size + after)
        if mode == "constant":
            column = ((at >= 0) & (at < size)).reshape((-1, *[1] * (x.ndim - 1 - axis)))
            shape = [len(at) if i == axis else n for i, n in enumerate(x.shape)]
            moved = np.take(x, np.clip(at, 0, size - 1), axis) if size else np.broadcast_to(fill, shape)
            x = np.where(column, moved, fill)
            continue
        if mode == "edge":
            at = np.clip(at, 0, size - 1)
        elif mode == "wrap":
            at = at % size
        else:  # back and forth between the ends, neither of which is taken twice
            at = (size - 1) - np.abs(at % max(2 * (size - 1), 1) - (size - 1))
        x = np.take(x, at, axis)
    return x


def space_to_depth(x, blocksize, mode="DCR"):
    """ONNX SpaceToDepth on (N, C, H, W): blocks before channels (DCR) or after (CRD)."""
    split, order, shape = space_steps(x.shape, blocksize, mode)
    return np.transpose(x.reshape(split), order).reshape(shape)


def depth_to_space(x, blocksize, mode="DCR"):
    """ONNX DepthToSpace on (N, C, H, W): blocks before channels (DCR) or after (CRD)."""
    split, order, shape = depth_steps(x.shape, blocksize, mode)
    return np.transpose(x.reshape(split), order).reshape(shape)


def constant_of_shape(shape, value):
    """ONNX ConstantOfShape: the one element of ``value`` everywhere."""
    return np.broadcast_to(value.reshape(()), ints(shape))


def range_(start, limit, delta):
    """ONNX Range: start + i * delta up to ``limit``."""
    first, last, step = (number(doubled(v) if is_real(start.dtype) else v) for v in (start, limit, delta))
    kind = np.float64 if is_real(start.dtype) else np.int64
    return cast(first + np.arange(range_count(first, last, step), dtype=kind) * step, start.dtype)


def eye_like(x, dtype=None, k=0):
    """ONNX EyeLike: ones on diagonal ``k`` of a matrix shaped like x."""
    return np.eye(*x.shape, k=k).astype(x.dtype if dtype is None else dtype)


def trilu(x, k=None, upper=1):
    """ONNX Trilu: the part of each matrix on and above (or below) diagonal ``k``, else 0."""
    beyond = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None] - number(k)
    return np.where(beyond >= 0 if upper else beyond <= 0, x, np.zeros((), x.dtype))


def non_zero(x):
    """ONNX NonZero: indices as (rank, count), row-major; a scalar gives (0, count)."""
    if x.ndim == 0:
        return np.zeros((0, int(x != 0)), np.int64)
    return np.stack(np.nonzero(x != 0)).astype(np.int64)


def center_crop_pad(x, shape, axes=None):
    """ONNX CenterCropPad: crop or pad each axis around its centre to the size given, with zeros."""
    around = centered_amounts(x.shape, ints(shape), axes)
    return pad(x, [before for before, _ in around] + [after for _, after in around])


def compress(x, condition, axis=None):
    """ONNX Compress: the slices along ``axis`` (elements if absent) at which ``condition`` holds."""
    return np.compress(condition, x, axis)


def reverse_sequence(x, lengths, batch_axis=1, time_axis=0):
    """ONNX ReverseSequence: the first ``lengths[b]`` steps of item b in reverse, the rest unchanged."""
    items = []
    for place in range(x.shape[batch_axis]):
        time = time_axis - (time_axis > batch_axis)
        item = np.moveaxis(np.take(x, place, batch_axis), time, 0)
        count = int(lengths[place])
        items.append(np.moveaxis(np.concatenate([item[:count][::-1], item[count:]]), 0, time))
    return np.stack(items, batch_axis) if items else x


def transpose(x, perm=None):
    """ONNX Transpose; all axes reversed unless told."""
    return np.transpose(x, perm)


def shape_of(x, start=0, end=None):
    """ONNX Shape, from ``start`` to ``end``, clamped as Python's slices are."""
    return np.array(x.shape[start:end], np.int64)


def size_of(x):
    """ONNX Size."""
    return np.array(x.size, np.int64)
