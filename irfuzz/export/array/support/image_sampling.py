# pyright: basic
"""Elements of images at places of any kind, and sums put at such places, computed in float64."""

from __future__ import annotations

import itertools
import math

import numpy as np

from irfuzz.export.array.support.convolutions_and_pools import laid_down
from irfuzz.export.array.support.dtype_conversions import cast, doubled, ints, is_real
from irfuzz.export.size_arithmetic.window_sizes import column_plan, unpooled_sizes


def affine_grid(theta, size, align_corners=0):
    """ONNX AffineGrid: places (N, *sizes, axes) of theta (N, axes, axes + 1), x before y before z."""
    size = ints(size)
    ends = []
    for n in reversed(size[2:]):
        step = np.arange(n, dtype=np.float64)
        ends.append(2 * step / max(n - 1, 1) - (n > 1) if align_corners else (2 * step + 1) / n - 1)
    places = np.meshgrid(*reversed(ends), indexing="ij")[::-1]
    whole_places = np.stack([*places, np.ones(tuple(size[2:]))], -1)
    return cast(np.einsum("...j,nij->n...i", whole_places, doubled(theta)), theta.dtype)


def mirrored(at, size, align_corners):
    """Places outside of an axis thrown back at its ends: at the outer elements' middles, or at their borders."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span <= 0:
        return 0 * at
    rest = np.abs(at - low) % (2 * span)
    return np.minimum(rest, 2 * span - rest) + low


def grid_sample(x, grid, mode="linear", padding_mode="zeros", align_corners=0):
    """ONNX GridSample of one to three spatial axes; before opset 20 the modes were bilinear and bicubic."""
    sizes, mode = x.shape[2:], mode.removeprefix("bi")
    if not is_real(x.dtype) or not 1 <= len(sizes) <= 3 or (mode == "cubic" and len(sizes) != 2):
        raise NotImplementedError(f"no exact {mode} sampling of {x.dtype} in {len(sizes)} dimensions")

    def kept(at, size):
        """A place as the padding mode has it."""
        if padding_mode == "reflection":
            at = mirrored(at, size, align_corners)
        return np.clip(at, 0, size - 1) if padding_mode != "zeros" else at

    places = []
    for i, size in enumerate(sizes):
        unit = doubled(grid)[..., len(sizes) - 1 - i]
        places.append((unit + 1) / 2 * (size - 1) if align_corners else ((unit + 1) * size - 1) / 2)
    image = doubled(x)
    if mode == "nearest":
        near = [np.rint(kept(at, size)) for at, size in zip(places, sizes, strict=True)]
        return cast(picked(image, near), x.dtype)
    total = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    if mode == "linear":
        places = [kept(at, size) for at, size in zip(places, sizes, strict=True)]
        for upper in itertools.product((0, 1), repeat=len(sizes)):
            share = together(
                at - np.floor(at) if up else 1 - (at - np.floor(at)) for at, up in zip(places, upper, strict=True)
            )
            near = [np.floor(at) + up for at, up in zip(places, upper, strict=True)]
            total = total + picked(image, near) * share[:, None]
        return cast(total, x.dtype)
    for offsets in itertools.product(range(-1, 3), repeat=len(sizes)):
        share = together(cubic(at - np.floor(at) - o) for at, o in zip(places, offsets, strict=True))
        near = [kept(np.floor(at) + o, size) for at, o, size in zip(places, offsets, sizes, strict=True)]
        total = total + picked(image, [np.rint(at) for at in near]) * share[:, None]
    return cast(total, x.dtype)


def together(shares):
    """The product of arrays."""
    result = np.ones(())
    for share in shares:
        result = result * share
    return result


def cubic(distance, a=-0.75):
    """Weight of an element in cubic interpolation."""
    d = np.abs(distance)
    return np.where(
        d <= 1, (a + 2) * d**3 - (a + 3) * d**2 + 1, np.where(d < 2, a * (d**3 - 5 * d**2 + 8 * d - 4), 0.0)
    )


def picked(image, places):
    """Elements of (N, C, *sizes) at whole places (N, *out) of each axis: (N, C, *out), 0 outside."""
    inside = np.ones(places[0].shape, np.bool_)
    index = []
    for at, size in zip(places, image.shape[2:], strict=True):
        inside = inside & ~((at < 0) | (at >= size))
        index.append(np.clip(np.nan_to_num(at), 0, size - 1).astype(np.int64)[:, None])
    shape = [1] * (places[0].ndim - 1)
    n, c = (np.arange(count) for count in image.shape[:2])
    found = image[(n.reshape((-1, 1, *shape)), c.reshape((1, -1, *shape)), *index)]
    return np.where(inside[:, None], found, 0.0)


def max_unpool(x, index, kernel_shape, strides=None, pads=None):
    """ONNX MaxUnpool without output_shape: elements at linear indices, zeros elsewhere."""
    sizes = unpooled_sizes(x.shape[2:], kernel_shape, strides, pads)
    result = np.zeros(math.prod((*x.shape[:2], *sizes)), x.dtype)
    result[index.reshape(-1)] = x.reshape(-1)
    return result.reshape((*x.shape[:2], *sizes))


def col2im(x, image, block, strides=None, dilations=None, pads=None):
    """ONNX Col2Im: columns (N, C * blocks, L) added up into (N, C, *image)."""
    image, block = ints(image), ints(block)
    steps, gaps, room, counts, inside = column_plan(image, block, strides, dilations, pads)
    columns = x.reshape((x.shape[0], -1, math.prod(block), *counts))
    kind = np.float64 if is_real(x.dtype) else x.dtype
    sums = laid_down((*columns.shape[:2], *room), kind, block, steps, gaps, counts, lambda place: columns[:, :, place])
    return cast(sums[inside], x.dtype)


def roi_align(
    x, rois, images, *, output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0, mode="avg",
    coordinate_transformation_mode="output_half_pixel",
):  # fmt: skip
    """ONNX RoiAlign; ``max`` is taken of the weighted corners, as ONNX's cases have it."""
    height, width, half_pixel = output_height, output_width, coordinate_transformation_mode == "half_pixel"
    shift = 0.5 if half_pixel else 0.0
    regions = []
    for (x1, y1, x2, y2), which in zip((doubled(rois) * spatial_scale - shift).tolist(), images.tolist(), strict=True):
        bins = [
            bin_places(*ends, count, sampling_ratio, half_pixel, size)
            for ends, count, size in (((y1, y2), height, x.shape[2]), ((x1, x2), width, x.shape[3]))
        ]
        corners_of = [
            doubled(x[which])[:, np.asarray(a)[:, :, None, None], np.asarray(b)[None, None]]
            * (p[:, :, None, None] * q[None, None])
            for (a, p), (b, q) in itertools.product(*bins)
        ]
        reduce_by = np.max if mode == "max" else np.sum
        merged = reduce_by(np.stack(corners_of), 0)
        if merged.shape[2] * merged.shape[4] == 0:
            regions.append(np.zeros((x.shape[1], height, width)))
        else:
            regions.append(np.max(merged, (2, 4)) if mode == "max" else np.mean(merged, (2, 4)))
    return cast(np.stack(regions) if regions else np.zeros((0, x.shape[1], height, width)), x.dtype)


def bin_places(start, end, count, ratio, half_pixel, size):
    """For the samples (count, each) of an axis's bins the lower and the upper neighbour, each with its share."""
    extent = end - start if half_pixel else max(end - start, 1.0)
    each_bin = ratio if ratio > 0 else max(math.ceil(extent / count), 0)
    part = (np.arange(each_bin) + 0.5) / max(each_bin, 1)
    at = start + (np.arange(count)[:, None] + part) * (extent / count)
    counted = (at >= -1) & (at <= size)
    at = np.clip(at, 0, size - 1)
    low = np.floor(at).astype(np.int64)
    return [
        (low, np.where(counted, 1 - (at - low), 0.0)),
        (np.minimum(low + 1, size - 1), np.where(counted, at - low, 0.0)),
    ]


def deform_conv(
    x, w, offset, b=None, mask=None, *, strides=None, dilations=None, pads=None, group=1, offset_group=1
):  # fmt: skip
    """ONNX DeformConv over any number of spatial axes."""
    kernel, out = w.shape[2:], offset.shape[2:]
    rank = len(kernel)
    steps, gaps, around = strides or (1,) * rank, dilations or (1,) * rank, pads or (0,) * 2 * rank
    n, c = x.shape[:2]
    moves = doubled(offset).reshape((n, offset_group, math.prod(kernel), rank, *out))
    shares = None if mask is None else doubled(mask).reshape((n, offset_group, math.prod(kernel), *out))
    image = doubled(x).reshape((n * offset_group, c // offset_group, *x.shape[2:]))
    columns = []
    for tap, place in enumerate(np.ndindex(*kernel)):
        at = [
            (moves[:, :, tap, i] + line).reshape((n * offset_group, *out))
            for i, line in enumerate(
                np.meshgrid(
                    *(np.arange(out[i]) * steps[i] - around[i] + place[i] * gaps[i] for i in range(rank)), indexing="ij"
                )
            )
        ]
        found = between(image, at).reshape((n, offset_group, c // offset_group, *out))
        columns.append(found if shares is None else found * shares[:, :, None, tap])
    stacked_columns = np.stack(columns, 3).reshape((n, group, c // group * math.prod(kernel), math.prod(out)))
    filters = doubled(w).reshape((group, w.shape[0] // group, c // group * math.prod(kernel)))
    result = np.matmul(filters, stacked_columns).reshape((n, w.shape[0], *out))
    return cast(result + (0 if b is None else doubled(b).reshape((-1, *[1] * rank))), x.dtype)


def between(image, places):
    """Multilinear interpolation of (N, C, *sizes) at places (N, *out) of each axis; elements outside count as 0."""
    total = np.zeros((*image.shape[:2], *places[0].shape[1:]))
    for upper in itertools.product((0, 1), repeat=len(places)):
        near = [np.floor(at) + up for at, up in zip(places, upper, strict=True)]
        share = together(1 - np.abs(at - corner) for at, corner in zip(places, near, strict=True))
        outside = np.zeros(share.shape, np.bool_)
        for corner, size in zip(near, image.shape[2:], strict=True):
            outside = outside | (corner < 0) | (corner >= size)
        # What is outside never counts, not even with an infinite share.
        total = total + np.where(outside[:, None], 0.0, picked(image, near) * share[:, None])
    return total
