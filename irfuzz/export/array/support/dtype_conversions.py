# pyright: basic
"""Wider and narrower element types, each conversion rounded at most once."""

from __future__ import annotations

import ml_dtypes
import numpy as np


def is_real(dtype):
    """Whether a type is one of floating-point numbers."""
    return np.dtype(dtype).kind == "f" or np.dtype(dtype) == ml_dtypes.bfloat16


def wide(x):
    """Floats in float64, in which a whole call is computed before it rounds once; other types as they are."""
    return x.astype(np.float64) if is_real(x.dtype) else x


def doubled(x):
    """Elements of any type in float64."""
    return x.astype(np.float64)


def whole(x):
    """Integers as int64, modulo 2**64."""
    return x.astype(np.int64)


def cast(x, dtype):
    """ONNX Cast: truncation from float to integer, wrapping between integers, one rounding to nearest even to float.

    Out-of-range float to integer is undefined in ONNX and left to numpy.
    """
    if x.dtype == dtype:
        return x
    if dtype == np.bool_:
        return x != 0
    if dtype == ml_dtypes.bfloat16:
        return to_bfloat16(x)
    if dtype == np.float16 and not is_real(x.dtype):
        return x.astype(np.float64).astype(np.float16)  # exact up to 2**53; what is larger is infinite anyway
    if is_real(x.dtype) and np.dtype(dtype).kind in "iu":
        return np.trunc(x.astype(np.float64)).astype(np.int64 if dtype != np.uint64 else np.uint64).astype(dtype)
    return x.astype(dtype)


def to_bfloat16(x):
    """The upper half of float32's bits, rounded to nearest even from the exact value and not from its float32."""
    exact = doubled_with_rest(x)
    single = exact.astype(np.float32)
    back = single.astype(np.float64)
    raw = single.view(np.uint32)
    # Between two bfloat16 only the side of the middle counts: a lost rest is marked in the lowest bit.
    too_far = np.abs(back) > np.abs(exact)
    raw = np.where(np.isfinite(exact) & (back != exact), (raw - too_far.astype(np.uint32)) | np.uint32(1), raw)
    up = (raw >> np.uint32(16)) & np.uint32(1)
    rounded = ((raw.astype(np.uint64) + 0x7FFF + up) >> np.uint64(16)).astype(np.uint16)
    rounded = np.where(np.isnan(exact), np.uint16(0x7FC0), rounded)
    return rounded.view(ml_dtypes.bfloat16)


def doubled_with_rest(x):
    """float64; integers beyond 2**53 keep in the lowest bit whether anything was cut off."""
    if is_real(x.dtype) or x.dtype.itemsize < 8:
        return np.asarray(x.astype(np.float64))
    size = np.where(x < 0, np.negative(x), x).astype(np.uint64)
    cut = ((size >> np.uint64(11)) | ((size & np.uint64(2047)) != 0).astype(np.uint64)).astype(np.float64) * 2048
    exact = np.where(size < np.uint64(1 << 53), size.astype(np.float64), cut)
    return np.where(x < 0, -exact, exact)


def lowest(dtype):
    """The least value of a type, -inf for floats."""
    if dtype == np.bool_:
        return False
    return -np.inf if is_real(dtype) else np.iinfo(dtype).min


def highest(dtype):
    """The greatest value of a type, +inf for floats."""
    if dtype == np.bool_:
        return True
    return np.inf if is_real(dtype) else np.iinfo(dtype).max


def to_tensor(value, dtype):
    """An array of ``dtype``; bfloat16 may come as its uint16 bit pattern. Sequences are lists."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [to_tensor(item, dtype) for item in value]
    array = np.array(value)
    if dtype == ml_dtypes.bfloat16 and array.dtype == np.uint16:
        return array.view(ml_dtypes.bfloat16)
    if array.dtype != dtype:
        raise TypeError(f"expected an array of {np.dtype(dtype)}, got {array.dtype}")
    return array.astype(dtype)


def to_array(value):
    """The inverse."""
    if value is None:
        return None
    return [to_array(item) for item in value] if isinstance(value, list) else np.asarray(value)


def ints(x):
    """The elements of an array, or of a sequence, as Python's numbers; none if there is no array."""
    return () if x is None else tuple(np.reshape(x, -1).tolist())


def number(x):
    """The one element of an array, or a number itself, as Python's number; 0 if there is none."""
    return 0 if x is None else np.reshape(x, ()).item()
