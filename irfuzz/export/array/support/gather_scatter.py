# pyright: basic
"""Elements that indices pick or replace."""

from __future__ import annotations

import math

import numpy as np

from irfuzz.export.array.support.dtype_conversions import is_real, number, wide


def within(index, size):
    """Indices from the start of an axis, negative ones counted from its end. Raises if they are outside."""
    places = index.astype(np.int64)
    places = np.where(places < 0, places + size, places)
    if places.size and not (np.min(places) >= 0 and np.max(places) < size):
        raise IndexError(f"index out of range for axis of size {size}")
    return places


def gather(x, index, axis=0):
    """ONNX Gather: slices of x along ``axis``, in the shape of ``index`` at that place."""
    return np.take(x, within(index, x.shape[axis]), axis)


def grid(shape, axis, index):
    """For each axis of ``shape`` the own place of every element, but along ``axis`` what ``index`` says."""
    places = list(np.indices(shape, sparse=True))
    places[axis] = index
    return tuple(places)


def gather_elements(x, index, axis=0):
    """ONNX GatherElements."""
    return x[grid(index.shape, axis, within(index, x.shape[axis]))]


def tuples(index, sizes):
    """The last axis of ``index`` taken apart: for each axis of ``sizes`` where its elements are."""
    return tuple(within(index[..., i], size) for i, size in enumerate(sizes))


def gather_nd(x, index, batch_dims=0):
    """ONNX GatherND: slices of x at index tuples, the first ``batch_dims`` axes going together."""
    depth = index.shape[-1]
    batch = x.shape[:batch_dims]
    rows = index.reshape((math.prod(batch), *index.shape[batch_dims:]))
    items = x.reshape((math.prod(batch), *x.shape[batch_dims:]))
    sizes = items.shape[1 : 1 + depth]
    own = np.arange(len(items)).reshape((-1, *[1] * (rows.ndim - 2)))
    found = items[(own, *tuples(rows, sizes))]
    return found.reshape((*batch, *index.shape[batch_dims:-1], *x.shape[batch_dims + depth :]))


def put(x, places, updates, reduction):
    """A copy of ``x`` with ``updates`` at a tuple of index arrays, one after the other combined with what is there."""
    result = np.array(x)
    if reduction == "none":
        result[places] = updates
        return result
    combine = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
    if is_real(x.dtype) and reduction in ("add", "mul"):
        sums = wide(result)
        combine.at(sums, places, wide(updates))
        return sums.astype(x.dtype)
    combine.at(result, places, updates)
    return result


def scatter_elements(x, index, updates, axis=0, reduction="none"):
    """ONNX ScatterElements; what duplicate indices give without a reduction is undefined."""
    return put(x, grid(index.shape, axis, within(index, x.shape[axis])), updates, reduction)


def scatter_nd(x, index, updates, reduction="none"):
    """ONNX ScatterND; what duplicate indices give without a reduction is undefined."""
    whole = np.zeros(index.shape[:-1], np.int64)  # with an axis for x itself, which an index of no axes picks
    places = (whole, *tuples(index, x.shape[: index.shape[-1]]))
    return put(x[np.newaxis], places, updates, reduction)[0]


def one_hot(indices, depth, values, axis=-1):
    """ONNX OneHot: ``values[1]`` at the index along a new axis, else ``values[0]``, also for indices out of range."""
    if is_real(indices.dtype) and bool(np.any(wide(indices) != np.trunc(wide(indices)))):
        raise NotImplementedError("OneHot of fractions: ONNX's text casts them, its reference evaluator does not")
    size = number(depth)
    places = wide(indices)
    places = np.expand_dims(np.where(places < 0, places + size, places), axis)
    steps = np.arange(size).reshape((-1, *[1] * (places.ndim - 1 - axis % places.ndim)))
    return np.where(places == steps, values[1], values[0])


def top_k(x, k, axis=-1, largest=1):
    """ONNX TopK: (values, indices), best first, the lower index first among equals."""
    count = number(k)
    if count > x.shape[axis]:
        raise ValueError(f"TopK asks for {count} of {x.shape[axis]} elements")
    if largest:  # a stable sort of the reversed axis, reversed, has the lower index first
        back = np.argsort(np.flip(wide(x), axis), axis, kind="stable")
        order = x.shape[axis] - 1 - np.flip(back, axis)
    else:
        order = np.argsort(wide(x), axis, kind="stable")
    order = np.take(order, np.arange(count), axis).astype(np.int64)
    return np.take_along_axis(x, order, axis), order
