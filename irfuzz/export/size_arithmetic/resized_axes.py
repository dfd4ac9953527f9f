# pyright: basic
"""How long axes become, from sizes, scales and policies."""

from __future__ import annotations

import math

import numpy as np


def resized_axes(rank, axes):
    """The axes that are resized, counted from the first: all of ``rank``, if ``axes`` is ``None``; negative ones count
    from the last.
    """
    return tuple(range(rank)) if axes is None else tuple(a % rank for a in axes)


def resize_targets(shape, scales, sizes, axes, policy):
    """For each axis: (axis, scale, target size, target size before rounding down).

    Args:
        shape: sizes of all axes.
        scales: of each axis of ``axes``; read only without ``sizes``.
        sizes: wanted ones of the same axes; ``None`` or empty if scales are given.
        axes: which are resized, counted from the first.
        policy: ``stretch``, or ``not_larger`` or ``not_smaller`` for one scale of all axes, the least or the greatest.
    """
    targets = []
    if sizes:
        ratios = [size / shape[axis] for size, axis in zip(sizes, axes, strict=True)]
        if policy != "stretch":
            common = min(ratios) if policy == "not_larger" else max(ratios)
            return [(a, common, math.floor(common * shape[a] + 0.5), common * shape[a]) for a in axes]
        return [(a, ratio, size, float(size)) for a, ratio, size in zip(axes, ratios, sizes, strict=True)]
    for axis, scale in zip(axes, scales, strict=True):
        # Sizes come from single precision products: 10 * 0.7 is 7, though float32's 0.7 is a little less. A region has
        # no part in them: not ONNX's text but its inference and evaluator are followed, as by every runtime.
        length = math.floor(np.float32(shape[axis]) * np.float32(scale))
        targets.append((axis, scale, length, shape[axis] * scale))
    return targets


def region_ends(roi, place, count):
    """Where a region begins and ends along the axis at ``place`` of ``count`` resized ones, as parts of the axis.

    Without a region (``roi`` is ``None`` or empty) it is the whole axis, from 0.0 to 1.0.
    """
    return (roi[place], roi[place + count]) if roi else (0.0, 1.0)
