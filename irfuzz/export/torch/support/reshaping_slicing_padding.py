# pyright: basic
"""Operators that give the same elements in another shape or order."""

from __future__ import annotations

import torch

from irfuzz.export.size_arithmetic.result_shapes import depth_steps, flat_sizes, reshaped_sizes, space_steps
from irfuzz.export.size_arithmetic.slice_and_pad_positions import (
    centered_amounts,
    equal_parts,
    pad_amounts,
    range_count,
    slice_plan,
)
from irfuzz.export.torch.support.dtype_conversions import bits, unbits


def reshape(x, shape, allowzero=0):
    """ONNX Reshape: 0 copies a size unless ``allowzero``, -1 is inferred."""
    return x.reshape(reshaped_sizes(x.shape, shape, allowzero, x.numel))


def squeeze(x, axes=None):
    """ONNX Squeeze: drop the axes given, else all of size 1."""
    if axes is None:
        axes = [i for i, n in enumerate(x.shape) if n == 1]
    dropped = {a % x.dim() for a in axes}
    for a in dropped:
        if x.shape[a] != 1:
            raise ValueError(f"cannot squeeze axis {a} of shape {tuple(x.shape)}")
    return x.reshape([n for i, n in enumerate(x.shape) if i not in dropped])


def unsqueeze(x, axes):
    """ONNX Unsqueeze: axes count in the result."""
    rank = x.dim() + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = x.unsqueeze(axis)
    return x


def flatten(x, axis):
    """ONNX Flatten to (before axis, from axis on)."""
    return x.reshape(flat_sizes(x.shape, axis))


def expand(x, shape):
    """ONNX Expand: broadcast x and ``shape`` against each other."""
    return x.expand(torch.broadcast_shapes(x.shape, shape))


def tile(x, repeats):
    """ONNX Tile."""
    return x.repeat(repeats)


def split_equal(x, count, axis):
    """ONNX Split into ``count`` parts of equal size, the last one smaller if it does not divide."""
    return x.split(equal_parts(x.shape[axis], count), axis)


def slice_(x, starts, ends, axes=None, steps=None):
    """ONNX Slice: clamped like Python's slices, negative steps included."""
    dtype, x = x.dtype, bits(x)
    for axis, first, count, step in slice_plan(x.shape, starts, ends, axes, steps):
        low = first if step > 0 else first + (count - 1) * step
        if not count:
            x = x.narrow(axis, 0, 0)
            continue
        x = x.narrow(axis, low, (count - 1) * abs(step) + 1)
        x = x[(slice(None),) * axis + (slice(None, None, abs(step)),)]
        if step < 0:
            x = x.flip(axis)
    return unbits(x, dtype)


def pad(x, pads, mode="constant", value=None, axes=None):
    """ONNX Pad: ``pads`` are all beginnings, then all ends; negative ones crop."""
    dtype, x = x.dtype, bits(x)
    fill = torch.zeros((), dtype=x.dtype) if value is None else bits(value).reshape(())
    for axis, (before, after) in enumerate(pad_amounts(x.dim(), pads, axes)):
        size = x.shape[axis]
        if before == 0 and after == 0:
            continue
        places = torch.arange(-before, size + after)
        inside = torch.clamp(places, 0, max(size - 1, 0))
        if mode == "reflect":
            period = max(2 * (size - 1), 1)
            folded = torch.remainder(places, period)
            inside = torch.minimum(folded, period - folded) if size > 1 else torch.zeros_like(places)
        elif mode == "wrap":
            inside = torch.remainder(places, size)
        if mode == "constant":
            mask = ((places >= 0) & (places < size)).reshape(-1, *(1,) * (x.dim() - 1 - axis))
            if size == 0:
                shape = [places.numel() if j == axis else n for j, n in enumerate(x.shape)]
                x = fill.expand(shape).clone()
            else:
                x = torch.where(mask, x.index_select(axis, inside), fill)
        else:
            x = x.index_select(axis, inside)
    return unbits(x, dtype)


def pad_with(x, pads, value, mode="constant"):
    """ONNX Pad before opset 11, whose padding value is a number."""
    return pad(x, pads, mode, torch.tensor(value, dtype=x.dtype))


def space_to_depth(x, block, mode="DCR"):
    """ONNX SpaceToDepth on (N, C, H, W): blocks before channels (DCR) or after (CRD)."""
    split, order, shape = space_steps(x.shape, block, mode)
    return x.reshape(split).permute(order).reshape(shape)


def depth_to_space(x, block, mode):
    """ONNX DepthToSpace on (N, C, H, W): blocks before channels (DCR) or after (CRD)."""
    split, order, shape = depth_steps(x.shape, block, mode)
    return x.reshape(split).permute(order).reshape(shape)


def filled(shape, value):
    """ONNX ConstantOfShape: the one element of ``value`` everywhere."""
    return value.reshape(()).expand(shape).clone()


def range_(start, limit, delta):
    """ONNX Range: start + i * delta up to ``limit``; half types are computed in float32."""
    first, last, step = start.reshape(()).item(), limit.reshape(()).item(), delta.reshape(()).item()
    count = range_count(first, last, step)
    if start.dtype.is_floating_point:
        wide = torch.float64 if start.dtype == torch.float64 else torch.float32
        steps = torch.arange(count, dtype=wide) * delta.reshape(()).to(wide)
        return (start.reshape(()).to(wide) + steps).to(start.dtype)
    return (first + torch.arange(count, dtype=torch.int64) * step).to(start.dtype)


def eye_like(x, k, dtype):
    """ONNX EyeLike: ones on diagonal ``k`` of a matrix shaped like x."""
    rows, columns = torch.arange(x.shape[0]).reshape(-1, 1), torch.arange(x.shape[1])
    return (columns - rows == k).to(dtype)


def trilu(x, k, upper):
    """ONNX Trilu: the part of each matrix on and above (or below) diagonal ``k``, else 0."""
    rows, columns = torch.arange(x.shape[-2]).reshape(-1, 1), torch.arange(x.shape[-1])
    keep = columns - rows >= k if upper else columns - rows <= k
    return torch.where(keep, x, torch.zeros_like(x))


def non_zero(x):
    """ONNX NonZero: indices as (rank, count), row-major; a scalar gives (0, count)."""
    found = x if x.dtype == torch.bool else x != 0
    return found.nonzero().T.contiguous()


def center_crop_pad(x, shape, axes=None):
    """ONNX CenterCropPad: crop or pad each axis around its centre to the size given, with zeros."""
    around = centered_amounts(x.shape, shape, axes)
    return pad(x, [before for before, _ in around] + [after for _, after in around])


def compress(x, condition, axis=None):
    """ONNX Compress: the slices along ``axis`` (elements if absent) at which ``condition`` holds."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    places = condition.nonzero().reshape(-1)
    return unbits(bits(x).index_select(axis, places), x.dtype)


def reverse_sequence(x, lengths, batch_axis, time_axis):
    """ONNX ReverseSequence: the first ``lengths[b]`` steps of item b in reverse, the rest unchanged."""
    x = x.movedim((batch_axis, time_axis), (0, 1))
    time = torch.arange(x.shape[1]).reshape(1, -1)
    lengths = lengths.reshape(-1, 1)
    source = torch.where(time < lengths, lengths - 1 - time, time)
    rows = torch.arange(x.shape[0]).reshape(-1, 1)
    return x[rows, source].movedim((0, 1), (batch_axis, time_axis))
