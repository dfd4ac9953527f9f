# pyright: basic
"""Axes and shapes that follow from shapes and attributes."""

from __future__ import annotations

import math


def reduced_axes(rank, axes, noop):
    """Axes to reduce, counted from the first: all of them if none are given (``None`` or empty), unless ``noop``, which
    reduces none. A scalar has none.
    """
    if axes:
        return [a % rank for a in axes] if rank else []
    return [] if noop else list(range(rank))


def reshaped_sizes(shape, wanted, allowzero, elements):
    """Sizes of an ONNX Reshape: 0 copies a size unless ``allowzero``.

    A -1 beside a 0, which frameworks do not take, becomes what ``elements()``, the number of them, leaves.
    """
    sizes = [shape[i] if n == 0 and not allowzero else n for i, n in enumerate(wanted)]
    if -1 in sizes and 0 in sizes:
        at = sizes.index(-1)
        rest = math.prod(sizes[:at] + sizes[at + 1 :])
        sizes[at] = elements() // rest if rest else 0
    return sizes


def flat_sizes(sizes, axis):
    """How many elements there are before ``axis``, and from it on: the two sizes that Flatten gives. A negative axis
    counts from the last.
    """
    axis = axis + len(sizes) if axis < 0 else axis
    return math.prod(sizes[:axis]), math.prod(sizes[axis:])


def depth_steps(sizes, block, mode):
    """DepthToSpace of (N, C, H, W): a shape, an order of its axes, and the shape of the result; blocks first in DCR.

    A lowering reshapes to the first, transposes by the second, and reshapes to the third. ``mode`` is DCR or CRD.
    """
    n, c, h, w = sizes
    depth = c // (block * block)
    split = (n, depth, block, block, h, w) if mode == "CRD" else (n, block, block, depth, h, w)
    order = (0, 1, 4, 2, 5, 3) if mode == "CRD" else (0, 3, 4, 1, 5, 2)
    return split, order, (n, depth, h * block, w * block)


def space_steps(sizes, block, mode):
    """SpaceToDepth of (N, C, H, W): a shape, an order of its axes, and the shape of the result; blocks before channels
    in DCR.

    The steps are those of ``depth_steps``: reshape, transpose, reshape.
    """
    n, c, h, w = sizes
    order = (0, 1, 3, 5, 2, 4) if mode == "CRD" else (0, 3, 5, 1, 2, 4)
    split = (n, c, h // block, block, w // block, block)
    return split, order, (n, c * block * block, h // block, w // block)


def empty_stack_sizes(shape, axis, dtype):
    """The shape of no tensors of ``shape`` along a new axis: it has size 0, and a negative ``axis`` counts from the end
    of the result.

    Raises:
        NotImplementedError: the element type or the shape is not known (``None``).
    """
    if dtype is None or shape is None:
        raise NotImplementedError("no iterations, and the shape of what they would give is not declared")
    shape = list(shape)
    shape.insert(axis if axis >= 0 else axis + len(shape) + 1, 0)
    return shape
