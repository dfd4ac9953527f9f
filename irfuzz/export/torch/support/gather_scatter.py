# pyright: basic
"""Operators that pick or replace elements by index."""

from __future__ import annotations

import math

import torch

from irfuzz.export.torch.support.dtype_conversions import bits, ordered, unbits, unordered


def from_end(index, size):
    """Indices as int64, negative ones counted from the end of an axis of ``size``."""
    index = index.to(torch.int64)
    return torch.where(index < 0, index + size, index)


def gather(x, index, axis):
    """ONNX Gather: slices of x along ``axis``, in the shape of ``index`` at that place."""
    axis = axis % x.dim()
    places = from_end(index, x.shape[axis])
    picked = bits(x).index_select(axis, places.reshape(-1))
    return unbits(picked.reshape(x.shape[:axis] + index.shape + x.shape[axis + 1 :]), x.dtype)


def gather_elements(x, index, axis):
    """ONNX GatherElements."""
    return unbits(bits(x).gather(axis, from_end(index, x.shape[axis])), x.dtype)


def flat_index(shape, index):
    """Row-major positions in an array of ``shape`` of the index tuples along the last axis of ``index``."""
    position = torch.zeros(index.shape[:-1], dtype=torch.int64)
    for i, size in enumerate(shape):
        place = from_end(index[..., i], size)
        if bool(((place < 0) | (place >= size)).any()):
            raise IndexError(f"index out of range for axis of size {size}")
        position = position * size + place
    return position


def gather_nd(x, index, batch_dims):
    """ONNX GatherND: slices of x at index tuples, the first ``batch_dims`` axes going together."""
    depth = index.shape[-1]
    batch, picked, inner = x.shape[:batch_dims], x.shape[batch_dims:][:depth], x.shape[batch_dims + depth :]
    table = bits(x).reshape(math.prod(batch) * math.prod(picked), math.prod(inner))
    position = flat_index(picked, index)
    if batch_dims:
        first = torch.arange(math.prod(batch)).reshape(*batch, *(1,) * (position.dim() - batch_dims))
        position = position + first * math.prod(picked)
    rows = table.index_select(0, position.reshape(-1))
    return unbits(rows.reshape(*index.shape[:-1], *inner), x.dtype)


def scatter_flat(flat, position, updates, reduction):
    """Write ``updates`` into a flat tensor at ``position``, combined with what is there by ``reduction``."""
    dtype = flat.dtype
    if reduction in ("max", "min"):
        result = ordered(flat).scatter_reduce(0, position, ordered(updates), "a" + reduction)
        return unordered(result, dtype)
    flat, updates = bits(flat), bits(updates)
    if reduction == "add":
        return unbits(flat.scatter_add(0, position, updates), dtype)
    if reduction == "mul":
        return unbits(flat.scatter_reduce(0, position, updates, "prod"), dtype)
    return unbits(flat.scatter(0, position, updates), dtype)


def scatter_elements(x, index, updates, axis, reduction="none"):
    """ONNX ScatterElements; what duplicate indices give without a reduction is undefined."""
    axis = axis % x.dim()
    grids = [torch.arange(n).reshape(-1, *(1,) * (x.dim() - 1 - i)) for i, n in enumerate(index.shape)]
    grids[axis] = index
    tuples = torch.stack(torch.broadcast_tensors(*[g.to(torch.int64) for g in grids]), -1)
    position = flat_index(x.shape, tuples).reshape(-1)
    return scatter_flat(x.reshape(-1), position, updates.reshape(-1), reduction).reshape(x.shape)


def scatter_nd(x, index, updates, reduction="none"):
    """ONNX ScatterND; what duplicate indices give without a reduction is undefined."""
    depth = index.shape[-1]
    size = math.prod(x.shape[depth:])
    position = flat_index(x.shape[:depth], index).reshape(-1, 1) * size + torch.arange(size)
    return scatter_flat(x.reshape(-1), position.reshape(-1), updates.reshape(-1), reduction).reshape(x.shape)


def one_hot(indices, depth, values, axis):
    """ONNX OneHot: ``values[1]`` at the index along a new axis, else ``values[0]``, also for indices out of range."""
    if indices.dtype.is_floating_point and bool((indices != torch.trunc(indices)).any()):
        raise NotImplementedError("OneHot of fractions: ONNX's text casts them, its reference evaluator does not")
    size = int(depth.reshape(()))
    places = from_end(indices, size)
    axis = axis % (indices.dim() + 1)
    steps = torch.arange(size).reshape(-1, *(1,) * (indices.dim() - axis))
    return torch.where(places.unsqueeze(axis) == steps, values[1], values[0])


def top_k(x, k, axis, largest):
    """ONNX TopK: (values, indices), best first, the lower index first among equals."""
    values, places = torch.sort(ordered(x), dim=axis, descending=bool(largest), stable=True)
    count = int(k.reshape(()))
    if count > x.shape[axis]:
        raise ValueError(f"TopK asks for {count} of {x.shape[axis]} elements")
    return unordered(values.narrow(axis, 0, count), x.dtype), places.narrow(axis, 0, count).contiguous()
