# pyright: basic
"""What is cut out of axes, put around or counted, from sizes and positions."""

from __future__ import annotations

import math


def slice_plan(sizes, starts, ends, axes, steps):
    """For each axis of an ONNX Slice: (axis, first position, how many, step), clamped like Python's slices."""
    axes = range(len(starts)) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    plan = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        first, stop, step = slice_bounds(start, end, step, sizes[axis])
        plan.append((axis % len(sizes), first, max(0, -(-(stop - first) // step)), step))
    return plan


def slice_bounds(start, end, step, size):
    """Start, end and step of a slice with negative positions counted from the end, clamped to the axis."""
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    step = min(max(step, -size - 1), size + 1)
    if step > 0:
        return min(max(start, 0), size), min(max(end, 0), size), step
    return min(max(start, 0), size - 1), min(max(end, -1), size - 1), step


def equal_parts(size, count):
    """Sizes of ``count`` equal parts, the last one smaller if it does not divide."""
    part = -(-size // count)
    return [min(part, max(size - i * part, 0)) for i in range(count)]


def pad_amounts(rank, pads, axes):
    """(before, after) of each of ``rank`` axes, of ONNX's pads: all beginnings of ``axes``, then all ends."""
    axes = range(rank) if axes is None else axes
    around = [(0, 0)] * rank
    for i, axis in enumerate(axes):
        around[axis] = (pads[i], pads[i + len(pads) // 2])
    return around


def centered_amounts(sizes, wanted, axes):
    """(before, after) of each axis that make ``axes`` (by default all) as long as ``wanted``; negative ones crop."""
    around = [(0, 0)] * len(sizes)
    for size, axis in zip(wanted, range(len(sizes)) if axes is None else axes, strict=True):
        have = sizes[axis]
        before = -((have - size) // 2) if size < have else (size - have) // 2
        around[axis] = (before, size - have - before)
    return around


def range_count(first, last, step):
    """How many elements a Range has, of integers or floats."""
    if isinstance(step, float):
        return max(math.ceil((last - first) / step), 0)
    return max(-((first - last) // step), 0)
