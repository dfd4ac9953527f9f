# pyright: basic
"""Samples images at places, and puts elements at places."""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F  # noqa: N812 - as generated modules have it

from irfuzz.export.size_arithmetic.window_sizes import column_plan, unpooled_sizes
from irfuzz.export.torch.support.dtype_conversions import bits, single, unbits


def affine_grid(theta, size, align_corners=0):
    """ONNX AffineGrid."""
    return F.affine_grid(theta.double(), list(size), bool(align_corners)).to(theta.dtype)


def grid_sample(x, grid, mode, padding, align_corners=0):
    """ONNX GridSample of one to three spatial axes, in float64 with one rounding at the end."""
    rank = x.dim() - 2
    if not x.dtype.is_floating_point or not 1 <= rank <= 3 or (mode == "bicubic" and rank != 2):
        raise NotImplementedError(f"no exact {mode} sampling of {x.dtype} in {rank} dimensions")
    image, at = x.double(), grid.double()
    if rank == 1:
        image, at = image.unsqueeze(2), torch.stack([at[..., 0], torch.zeros_like(at[..., 0])], -1).unsqueeze(1)
    result = F.grid_sample(image, at, mode=mode, padding_mode=padding, align_corners=bool(align_corners))
    return (result.squeeze(2) if rank == 1 else result).to(x.dtype)


def max_unpool(x, index, kernel, strides=None, pads=None):
    """ONNX MaxUnpool without output_shape: elements at linear indices, zeros elsewhere."""
    sizes = unpooled_sizes(x.shape[2:], kernel, strides, pads)
    result = torch.zeros(math.prod([*x.shape[:2], *sizes]), dtype=x.dtype)
    result[index.reshape(-1)] = x.reshape(-1)
    return result.reshape(*x.shape[:2], *sizes)


def col2im(x, image, block, strides=None, dilations=None, pads=None):
    """ONNX Col2Im: columns (N, C * blocks, L) added up into (N, C, *image)."""
    strides, dilations, padded, counts, inside = column_plan(image, block, strides, dilations, pads)
    source = single(bits(x))
    columns = source.reshape(x.shape[0], -1, *block, *counts)
    result = torch.zeros(*columns.shape[:2], *padded, dtype=source.dtype)
    for place in itertools.product(*map(range, block)):
        windows = tuple(
            slice(p * d, p * d + s * (n - 1) + 1, s)
            for p, d, s, n in zip(place, dilations, strides, counts, strict=True)
        )
        result[(slice(None), slice(None), *windows)] += columns[(slice(None), slice(None), *place)]
    result = result[inside]
    return unbits(result, x.dtype) if not x.dtype.is_floating_point else result.to(x.dtype)


def roi_align(x, rois, images, height=1, width=1, ratio=0, scale=1.0, mode="avg", half_pixel=1):
    """ONNX RoiAlign; ``max`` is taken of the weighted corners, as ONNX's cases have it."""
    image = x.double()
    rows = []
    for (x1, y1, x2, y2), which in zip(rois.double().tolist(), images.tolist(), strict=True):
        shift = 0.5 if half_pixel else 0.0
        cells = []
        for start, end, count, size in ((y1, y2, height, x.shape[2]), (x1, x2, width, x.shape[3])):
            start, end = start * scale - shift, end * scale - shift
            extent = end - start if half_pixel else max(end - start, 1.0)
            samples = ratio if ratio > 0 else math.ceil(extent / count)
            at = start + (torch.arange(count * samples, dtype=torch.float64) + 0.5) * extent / (count * max(samples, 1))
            cells.append((samples, roi_corners(at, size)))
        (down, (y_low, y_high, y_part, y_in)), (right, (x_low, x_high, x_part, x_in)) = cells
        inside = (y_in[:, None] & x_in[None, :]).double()
        terms = [
            image[which][:, a][:, :, b] * (p[:, None] * q[None, :] * inside)
            for a, p in ((y_low, 1 - y_part), (y_high, y_part))
            for b, q in ((x_low, 1 - x_part), (x_high, x_part))
        ]
        both = torch.stack(terms)
        both = both.amax(0) if mode == "max" else both.sum(0)
        both = both.reshape(x.shape[1], height, down, width, right)
        if down * right == 0:
            rows.append(torch.zeros(x.shape[1], height, width, dtype=torch.float64))
        else:
            rows.append(both.amax((2, 4)) if mode == "max" else both.sum((2, 4)) / (down * right))
    return torch.stack(rows).to(x.dtype) if rows else x.new_zeros(0, x.shape[1], height, width)


def roi_corners(at, size):
    """Lower and upper neighbour of each place, the upper one's weight, and whether the place counts at all."""
    inside = (at >= -1.0) & (at <= size)
    at = at.clamp(0, size - 1)
    low = at.floor().long().clamp(max=size - 1)
    return low, (low + 1).clamp(max=size - 1), at - low, inside


def deform_conv(
    x, w, offset, b=None, mask=None, *, strides=None, dilations=None, pads=None, group=1, offset_group=1
):  # fmt: skip
    """ONNX DeformConv over any number of spatial axes, in float64 with one rounding at the end."""
    rank, kernel, out = x.dim() - 2, list(w.shape[2:]), list(offset.shape[2:])
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    n, c, taps = x.shape[0], x.shape[1], math.prod(kernel)
    shifts = offset.double().reshape(n, offset_group, taps, rank, *out)
    weights = None if mask is None else mask.double().reshape(n, offset_group, 1, taps, *out)
    image = x.double().reshape(n, offset_group, c // offset_group, math.prod(x.shape[2:]))
    columns = []
    for tap, place in enumerate(itertools.product(*map(range, kernel))):
        at = []
        for i in range(rank):
            start = torch.arange(out[i], dtype=torch.float64) * strides[i] - pads[i] + place[i] * dilations[i]
            at.append(shifts[:, :, tap, i] + start.reshape(-1, *[1] * (rank - 1 - i)))
        columns.append(corner_sum(image, at, x.shape[2:]))
    stacked = torch.stack(columns, 3)
    if weights is not None:
        stacked = stacked * weights
    stacked = stacked.reshape(n, group, c // group * taps, math.prod(out))
    filters = w.double().reshape(group, w.shape[0] // group, c // group * taps)
    result = torch.matmul(filters, stacked).reshape(n, w.shape[0], *out)
    if b is not None:
        result = result + b.double().reshape(-1, *[1] * rank)
    return result.to(x.dtype)


def corner_sum(image, at, sizes):
    """Multilinear interpolation of (N, G, C, elements) at places (N, G, *out) of each axis; zero outside."""
    total = torch.zeros((), dtype=torch.float64)
    floors = [a.floor() for a in at]
    for upper in itertools.product((0, 1), repeat=len(at)):
        weight = torch.ones((), dtype=torch.float64)
        index, inside = torch.zeros((), dtype=torch.int64), torch.ones((), dtype=torch.bool)
        for place, low, high, size in zip(at, floors, upper, sizes, strict=True):
            corner = low + high
            weight = weight * (place - low if high else 1 - (place - low))
            # NaN is inside, so that it shows; elements outside never count, not even infinite weights of theirs.
            inside = ~((corner < 0) | (corner >= size)) & inside
            index = index * size + corner.nan_to_num().clamp(0, size - 1).long()
        flat = index.reshape(*index.shape[:2], 1, -1).expand(-1, -1, image.shape[2], -1)
        values = image.gather(3, flat).reshape(*image.shape[:3], *index.shape[2:])
        term = values * weight.unsqueeze(2)
        total = total + torch.where(inside.unsqueeze(2), term, torch.zeros_like(term))
    return total
