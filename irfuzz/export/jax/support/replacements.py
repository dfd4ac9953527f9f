# pyright: basic, reportAttributeAccessIssue=false, reportMissingImports=false
"""Support functions that write into arrays, or compute with Python's numbers, in JAX's way."""

from __future__ import annotations

import math

import jax
import ml_dtypes
import numpy as np
from jax import numpy as jnp
from jax.scipy import special

from irfuzz.export.array.support.convolutions_and_pools import taps
from irfuzz.export.array.support.dtype_conversions import is_real, wide
from irfuzz.export.jax.support.array_functions import known
from irfuzz.export.size_arithmetic.window_sizes import unpooled_sizes


def to_tensor(value, dtype):
    """An array of JAX's of ``dtype``; bfloat16 may come as its uint16 bit pattern. Sequences are lists."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [to_tensor(item, dtype) for item in value]
    if isinstance(value, jax.Array):
        return value
    return jnp.asarray(held(value, dtype))


def to_weight(value, dtype):
    """The same of a weight; integers and booleans stay NumPy's, for they may be sizes."""
    return to_tensor(value, dtype) if is_real(dtype) else held(value, dtype)


def held(value, dtype):
    """An array of NumPy's of ``dtype``."""
    array = known(value)
    if dtype == ml_dtypes.bfloat16 and array.dtype == np.uint16:
        return array.view(ml_dtypes.bfloat16)
    if array.dtype != dtype:
        raise TypeError(f"expected an array of {np.dtype(dtype)}, got {array.dtype}")
    return array


def to_array(value):
    """An array of NumPy's."""
    if value is None:
        return None
    return [to_array(item) for item in value] if isinstance(value, list) else known(value)


def ints(x):
    """The elements of an array, or of a sequence, as Python's numbers; none if there is no array."""
    return () if x is None else tuple(known(x).reshape(-1).tolist())


def number(x):
    """The one element of an array, or a number itself, as Python's number; 0 if there is none."""
    return 0 if x is None else known(x).reshape(()).item()


def each(function, x):
    """``math.erf`` or ``math.erfc`` of each element of a float64 array."""
    return {math.erf: special.erf, math.erfc: special.erfc}[function](x)


def within(index, size):
    """Indices from the start of an axis, negative ones counted from its end."""
    places = index.astype(np.int64)
    return np.where(places < 0, places + size, places)


def gather_elements(x, index, axis=0):
    """ONNX GatherElements."""
    return np.take_along_axis(jnp.asarray(x), within(index, x.shape[axis]), axis)


def put(x, places, updates, reduction):
    """A copy of ``x`` with ``updates`` at a tuple of index arrays, one after the other combined with what is there."""
    if reduction == "none":
        return jnp.asarray(x).at[places].set(updates)
    name = "multiply" if reduction == "mul" else reduction
    if is_real(x.dtype) and reduction in ("add", "mul"):
        return getattr(jnp.asarray(wide(x)).at[places], name)(wide(updates)).astype(x.dtype)
    return getattr(jnp.asarray(x).at[places], name)(updates)


def compress(x, condition, axis=None):
    """ONNX Compress: the slices along ``axis`` (elements if absent) at which ``condition`` holds."""
    kept = known(condition).nonzero()[0]
    return np.take(x.reshape(-1) if axis is None else x, kept, axis or 0)


def tensor_scatter(cache, update, places=None, axis=-2, mode="linear"):
    """ONNX TensorScatter: ``update`` over ``cache`` from a place for each row of the batch on."""
    rows = []
    for row in range(cache.shape[0]):
        at = places[row] if places is not None else 0
        old, new = (np.moveaxis(t[row], axis % cache.ndim - 1, 0) for t in (cache, update))
        index = at + np.arange(len(new))
        index = index % len(old) if mode == "circular" else index
        rows.append(np.moveaxis(jnp.asarray(old).at[index].set(new), 0, axis % cache.ndim - 1))
    return np.stack(rows) if rows else cache


def reverse_sequence(x, lengths, batch_axis=1, time_axis=0):
    """ONNX ReverseSequence: the first ``lengths[b]`` steps of item b in reverse, the rest unchanged."""
    data = np.moveaxis(x, (time_axis, batch_axis), (0, 1))
    step = np.arange(data.shape[0])[:, None]
    places = np.where(step < lengths, lengths - 1 - step, step)
    places = places.reshape((*data.shape[:2], *[1] * (x.ndim - 2)))
    return np.moveaxis(np.take_along_axis(jnp.asarray(data), places, 0), (0, 1), (time_axis, batch_axis))


def max_unpool(x, index, kernel_shape, strides=None, pads=None):
    """ONNX MaxUnpool without output_shape: elements at linear indices, zeros elsewhere."""
    sizes = (*x.shape[:2], *unpooled_sizes(x.shape[2:], kernel_shape, strides, pads))
    return jnp.zeros(math.prod(sizes), x.dtype).at[index.reshape(-1)].set(x.reshape(-1)).reshape(sizes)


def laid_down(room, dtype, kernel, steps, gaps, counts, columns):
    """An array of the shape ``room`` to which the elements ``columns(place)`` are added for each place of a kernel."""
    numbers = np.arange(math.prod(room[2:])).reshape((1, 1, *room[2:]))
    canvas = jnp.zeros((*room[:2], math.prod(room[2:])), dtype)
    for place, spots in enumerate(taps(numbers, kernel, steps, gaps, counts)):
        canvas = canvas.at[:, :, spots.reshape(-1)].add(columns(place).reshape((*room[:2], -1)).astype(dtype))
    return canvas.reshape(room)
