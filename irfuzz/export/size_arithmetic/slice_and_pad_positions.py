# pyright: basic
"""What is cut out of axes, put around or counted, from sizes and positions."""

from __future__ import annotations

import math


def slice_plan(sizes, starts, ends, axes, steps):
    """For each axis of an ONNX Slice: (axis, first position, how many, step), clamped like Python's slices.

    Args:
        sizes: of all axes.
        starts: of each axis that is sliced; negative ones count from the end.
        ends: of the same axes.
        axes: which these are, negative ones counted from the last; ``None`` for the first ones.
        steps: of the same axes, never 0; ``None`` for 1 everywhere.
    """
    axes = range(len(starts)) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    plan = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        first, stop, step = slice_bounds(start, end, step, sizes[axis])
        plan.append((axis % len(sizes), first, max(0, -(-(stop - first) // step)), step))
    return plan


def slice_bounds(start, end, step, size):
    """Start, end and step of a slice with negative positions counted from the end, clamped to the axis.

    With a negative step the end may be -1, which is the place before the first element. A step is cut to one more than
    ``size``.
    """
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    step = min(max(step, -size - 1), size + 1)
    if step > 0:
        return min(max(start, 0), size), min(max(end, 0), size), step
    return min(max(start, 0), size - 1), min(max(end, -1), size - 1), step


def equal_parts(size, count):
    """Sizes of ``count`` equal parts of ``size``, the last ones smaller if it does not divide: 7 in 3 parts is ``[3, 3,
    1]``.
    """
    part = -(-size // count)
    return [min(part, max(size - i * part, 0)) for i in range(count)]


def pad_amounts(rank, pads, axes):
    """(before, after) of each of ``rank`` axes, of ONNX's pads: all beginnings of ``axes``, then all ends.

    Axes that are not in ``axes`` get (0, 0); ``None`` stands for all axes. With rank 2, pads (1, 2) and axes (1,) give
    ``[(0, 0), (1, 2)]``.
    """
    axes = range(rank) if axes is None else axes
    around = [(0, 0)] * rank
    for i, axis in enumerate(axes):
        around[axis] = (pads[i], pads[i + len(pads) // 2])
    return around


def centered_amounts(sizes, wanted, axes):
    """(before, after) of each axis that make ``axes`` (by default all) as long as ``wanted``; negative ones crop.

    Of an odd number to add, or to crop, the greater half is after the axis; axes that are not in ``axes`` get (0, 0).
    """
    around = [(0, 0)] * len(sizes)
    for size, axis in zip(wanted, range(len(sizes)) if axes is None else axes, strict=True):
        have = sizes[axis]
        before = -((have - size) // 2) if size < have else (size - have) // 2
        around[axis] = (before, size - have - before)
    return around


def range_count(first, last, step):
    """How many elements an ONNX Range has, of integers or floats: from ``first`` on, without ``last``; 0 if the step
    leads away from it.
    """
    if isinstance(step, float):
        return max(math.ceil((last - first) / step), 0)
    return max(-((first - last) // step), 0)
