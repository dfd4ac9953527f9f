"""The figures that every numeric judgement shares: the resolution of dtypes, the factor over the spread."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

FACTOR = 100.0
"""A difference is one where it exceeds the spread of independent witnesses by this factor."""

QUANTISATION_STEP = 2 / 127
"""What one operator that rounds to eight bits may add, relative to the output: a step to either side."""

QUANTISATION_MOST = 0.5

SCREEN = 25.0
"""Where a shadow can be asked, it runs for outputs that differ by more than so many cheap floors."""

SCREEN_FEW, SCREEN_SHARE = 3.0, 1e-4
"""Or by more than a few, where an element differs by this share of itself: small elements beside large ones."""

SCREEN_MANY, SCREEN_APART = 0.125, 5e-4
"""Or by less than a floor, if this part of its elements differs by this share of itself: many small ones beside a huge
one, which the floor follows."""

HUGE = {np.dtype(np.float64): 1e300, np.dtype(np.float32): 1e30, np.dtype(ml_dtypes.bfloat16): 1e30}
"""From this magnitude on, whether a sum overflows depends on its order; for smaller types 1/16 of the range."""

_TINY = 1e-30
"""Types whose smallest normal number is beyond this are computed in wider ones."""

_finfo: Callable[[np.dtype], Any] = ml_dtypes.finfo  # not typed there


def worth_a_look(a: np.ndarray, b: np.ndarray, floor: float, eps: float) -> bool:
    """Whether two tensors differ by so much that a shadow should decide; NaN and infinity in both count as equal.

    Args:
        a: one.
        b: the other.
        floor: what correct components differ by.
        eps: resolution of their type.
    """
    with np.errstate(invalid="ignore"):  # equal infinities
        distance = np.abs(np.subtract(a, b, dtype=np.float64))
    if not distance.size or distance.max() > SCREEN * floor:
        return bool(distance.size)
    size, share = np.abs(b.astype(np.float64)), max(SCREEN_SHARE, SCREEN * eps)
    if ((distance > SCREEN_FEW * floor) & (distance > share * size)).any():
        return True
    normal = size > smallest(b.dtype)
    apart = normal & (distance > max(SCREEN_APART, SCREEN * eps) * size)
    return bool(apart.any() and apart.sum() >= SCREEN_MANY * normal.sum())


@functools.cache
def is_float(dtype: np.dtype) -> bool:
    """True for IEEE floats and the small floats of ml_dtypes, such as bfloat16 and float8_e4m3fn.

    Integers, those of ml_dtypes among them, booleans, strings and complex numbers are none.
    """
    if dtype.kind in "fc":  # ml_dtypes has limits of complex numbers, too
        return dtype.kind == "f"
    try:
        ml_dtypes.finfo(dtype)
    except (ValueError, TypeError):
        return False
    return True


@functools.cache
def resolution(dtype: np.dtype) -> float:
    """Relative distance of neighbouring numbers around 1 (``finfo.eps``): 2**-23 for float32, 2**-10 for float16."""
    return _limit(dtype, "eps")


@functools.cache
def smallest(dtype: np.dtype) -> float:
    """Smallest normal number: components may flush what is smaller to zero, as TensorFlow and OpenVINO do."""
    return _limit(dtype, "smallest_normal")


@functools.cache
def vanishing(dtype: np.dtype) -> float:
    """What underflow may take away: of a number whose square is subnormal, norms and products may leave nothing.

    Returns:
        The square root of the smallest normal number if that is below 1e-30, as of float32, float64 and bfloat16; that
        number itself for narrower types.
    """
    least = smallest(dtype)
    return math.sqrt(least) if least < _TINY else least


@functools.cache
def largest(dtype: np.dtype) -> float:
    """Largest finite number."""
    return _limit(dtype, "max")


@functools.cache
def lowest(dtype: np.dtype) -> float:
    """Least finite number (``finfo.min``), which is above zero for types without a sign, such as float8_e8m0fnu."""
    return _limit(dtype, "min")


def _limit(dtype: np.dtype, name: str) -> float:
    return float(getattr(_finfo(dtype), name))


@functools.cache
def huge(dtype: np.dtype) -> float:
    """From this magnitude on, an overflow depends on the order of operations.

    Returns:
        1e300 for float64, 1e30 for float32 and bfloat16, and a sixteenth of the largest number for other types.
    """
    return HUGE.get(dtype, largest(dtype) / 16)
