# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Operators that pick or replace elements by index."""

from __future__ import annotations

import math

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims, known, sizes_of, static
from irfuzz.export.tensorflow.support.dtype_conversions import ordered, unordered


def from_end(index, size):
    """Indices as int64, negative ones counted from the end of an axis of ``size``."""
    index = tf.cast(index, tf.int64)
    return tf.where(index < 0, index + tf.cast(size, tf.int64), index)


def gather(x, index, axis):
    """ONNX Gather: slices of x along ``axis``, in the shape of ``index`` at that place."""
    return tf.gather(x, from_end(index, dims(x)[axis]), axis=axis)


def gather_elements(x, index, axis):
    """ONNX GatherElements."""
    return tf.gather_nd(x, element_places(x, index, axis))


def element_places(x, index, axis):
    """For each element of ``index`` the tuple of indices in x that has it at ``axis`` and is its own elsewhere."""
    sizes = sizes_of(index)
    axis = axis % len(sizes)
    grids = [tf.reshape(tf.range(n, dtype=tf.int64), (-1, *(1,) * (len(sizes) - 1 - i))) for i, n in enumerate(sizes)]
    grids[axis] = from_end(index, dims(x)[axis])
    return tf.stack([tf.broadcast_to(grid, sizes) for grid in grids], -1)


def places_from_end(shape, index):
    """Tuples of indices along the last axis of ``index``, negative ones counted from the ends of ``shape``."""
    return from_end(index, tf.constant(shape[: index.shape[-1]], tf.int64))


def gather_nd(x, index, batch_dims):
    """ONNX GatherND: slices of x at index tuples, the first ``batch_dims`` axes going together."""
    return tf.gather_nd(x, places_from_end(sizes_of(x)[batch_dims:], index), batch_dims)


def in_range(places, sizes):
    """Raise if index tuples are outside of ``sizes``; only eagerly, since a traced graph cannot tell."""
    limits = tf.constant(sizes[: places.shape[-1]], tf.int64)
    if tf.executing_eagerly() and bool(tf.reduce_any((places < 0) | (places >= limits))):
        raise IndexError(f"index out of range for {sizes}")


def scatter(x, places, updates, reduction):
    """Write ``updates`` into x at index tuples, combined with what is there by ``reduction``."""
    dtype = x.dtype
    if 0 in sizes_of(updates):  # which TensorFlow refuses if there are indices
        in_range(places, sizes_of(x))
        return tf.identity(x)
    if dtype == tf.bool:  # of which TensorFlow has no sums and products
        reduction = {"add": "max", "mul": "min"}.get(reduction, reduction)
    if reduction == "none":
        return tf.tensor_scatter_nd_update(x, places, updates)
    if reduction == "add":
        return tf.tensor_scatter_nd_add(x, places, updates)
    if reduction in ("max", "min"):
        combine = tf.tensor_scatter_nd_max if reduction == "max" else tf.tensor_scatter_nd_min
        result = unordered(combine(ordered(x), places, ordered(updates)), dtype)
        if not dtype.is_floating:
            return result
        unknown = tf.cast(tf.math.is_nan(updates), tf.int32)
        reached = tf.tensor_scatter_nd_max(tf.cast(tf.math.is_nan(x), tf.int32), places, unknown)
        return tf.where(reached > 0, tf.constant(float("nan"), dtype), result)
    sizes = sizes_of(x)
    depth = places.shape[-1]
    steps = tf.constant([math.prod(sizes[i + 1 : depth]) for i in range(depth)], tf.int64)
    in_range(places, sizes)
    rows, inner = math.prod(sizes[:depth]), sizes[depth:]
    flat = tf.reshape(tf.reduce_sum(places * steps, -1), (-1,))
    factors = tf.math.unsorted_segment_prod(tf.reshape(updates, (-1, *inner)), flat, rows)
    return x * tf.reshape(factors, sizes)


def scatter_elements(x, index, updates, axis, reduction="none"):
    """ONNX ScatterElements; what duplicate indices give without a reduction is undefined."""
    return scatter(x, element_places(x, index, axis), updates, reduction)


def scatter_nd(x, index, updates, reduction="none"):
    """ONNX ScatterND; what duplicate indices give without a reduction is undefined."""
    sizes, shape = sizes_of(x), sizes_of(index)
    rows, depth = math.prod(shape[:-1]), shape[-1]  # TensorFlow takes a single vector for rows of one index each
    updates = tf.reshape(updates, (rows, *sizes[depth:]))
    if depth == 0:  # every row of ``updates`` replaces x as a whole, which needs an axis to be picked from
        whole = tf.zeros((rows, 1), tf.int64)
        return tf.squeeze(scatter(tf.expand_dims(x, 0), whole, updates, reduction), 0)
    places = places_from_end(sizes, tf.reshape(index, (rows, depth)))
    return scatter(x, places, updates, reduction)


def one_hot(indices, depth, values, axis):
    """ONNX OneHot: ``values[1]`` at the index along a new axis, else ``values[0]``, also for indices out of range."""
    if indices.dtype.is_floating and (static(indices) % 1).any():
        raise NotImplementedError("OneHot of fractions: ONNX's text casts them, its reference evaluator does not")
    size = int(known(depth))
    places, rank = from_end(indices, size), len(indices.shape)
    axis = axis % (rank + 1)
    steps = tf.reshape(tf.range(size, dtype=tf.int64), (-1, *(1,) * (rank - axis)))
    return tf.where(tf.equal(tf.expand_dims(places, axis), steps), values[1], values[0])


def top_k(x, k, axis, largest):
    """ONNX TopK: (values, indices), best first, the lower index first among equals."""
    rank, count = len(x.shape), known(k)
    axis = axis % rank
    if count > x.shape[axis]:
        raise ValueError(f"TopK asks for {count} of {x.shape[axis]} elements")
    order = [*(i for i in range(rank) if i != axis), axis]
    back = [order.index(i) for i in range(rank)]
    keys = tf.transpose(x, order)
    if not largest:
        keys = -keys if x.dtype.is_floating else tf.bitwise.invert(keys)
    places = tf.math.top_k(keys, count, index_type=tf.int64).indices
    found = tf.gather(tf.transpose(x, order), places, batch_dims=rank - 1)
    return tf.transpose(found, back), tf.transpose(places, back)
