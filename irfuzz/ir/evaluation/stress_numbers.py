"""Numbers on which faulty arithmetic shows: whole ones that doubles do not hold, floats of all scales and near others.

Most elements of inputs and weights are small, so that most programs give finite results that can be compared. A kernel
that goes through a narrower type, adds in a poor order or decides a tie wrongly computes those as the right one does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

EDGES = (8, 11, 15, 16, 24, 31, 32, 53, 62, 63, 64)
"""Powers of two about which types end: of floating point, what it holds exactly; of integers, their range."""

_SMALL = 0.3
"""Share of elements that stay small beside large ones."""

_MODERATE = 0.7
"""How often the scale of floats is one at which no product of a few numbers overflows or vanishes."""

_MODERATE_BITS, _MOST_BITS = 12, 0.9
"""Such scales, as powers of two to either side; and the share of a type's exponents that the others reach."""


def whole(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Integers of a type: powers of two and their neighbours, random patterns of bits, or magnitudes of all scales.

    Args:
        shape: of the array.
        dtype: of integers.
        rng: decides which of the three the whole array is made of, and its elements.
    """
    way: Callable[..., Any] = rng.choice(np.array(_WHOLE, object), p=(0.4, 0.2, 0.4))
    return np.asarray(way(shape, dtype, rng)).astype(dtype).reshape(shape)


def _edges(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    limits = np.iinfo(dtype)
    numbers = [sign * 2**bits + near for bits in EDGES for near in (-1, 0, 1) for sign in (1, -1)]
    pool = np.array([n for n in numbers if limits.min <= n <= limits.max], dtype)
    return _with_small(pool[rng.integers(0, len(pool), shape)], rng)


def _patterns(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def _scales(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """As often below as above each power of two; the lower bits are random."""
    patterns = np.asarray(_patterns(shape, dtype, rng))
    shifts = np.asarray(rng.integers(0, np.iinfo(dtype).bits - 1, shape))
    return np.right_shift(patterns, shifts.astype(dtype))


def _with_small(array: Any, rng: np.random.Generator) -> np.ndarray:
    small = rng.integers(0, 11, np.shape(array))
    return np.where(rng.random(np.shape(array)) < _SMALL, small.astype(array.dtype), array)


_WHOLE = (_edges, _patterns, _scales)


def real(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Floats: of one scale or of many, a rounding apart, that cancel, whole ones of a byte, halves, or all alike.

    Args:
        shape: of the array.
        dtype: of floating point, those of ``ml_dtypes`` included.
        rng: decides which of these the whole array is, and its elements.

    Returns:
        Finite numbers, at most a quarter of the largest one of the type.
    """
    way: Callable[..., np.ndarray] = rng.choice(np.array(_REAL, object), p=(0.25, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05))
    info: Any = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        found = np.asarray(way(shape, info, rng)).astype(np.float64)
        most = float(info.max) / 4
        return np.asarray(np.clip(found, -most, most)).astype(dtype).reshape(shape)


_STRIKES = (0.4, 0.3, 0.3)
"""How often some elements are special, a whole line along an axis, or all of them."""

_SOME = 0.25
"""Share of elements that are special where some are."""


def struck(array: np.ndarray, rng: np.random.Generator, pool: np.ndarray | None = None) -> np.ndarray:
    """A copy of floats in which some elements, a line of them or all are special.

    A maximum, a sum of exponentials or a norm over nothing but infinities, zeros or NaN is a case of its own, which
    single elements never make.

    Args:
        array: of a floating-point type.
        rng: decides which.
        pool: what is special, of the same type; NaN, infinities, -0 and the largest number if left out.
    """
    if not array.size:
        return array
    info: Any = ml_dtypes.finfo(array.dtype)
    special = (
        np.array([np.nan, np.inf, -np.inf, -0.0, float(info.max)], np.float64).astype(array.dtype)
        if pool is None
        else pool
    )
    way = int(rng.choice(3, p=_STRIKES))
    if way == 0:
        mask = rng.random(array.shape) < _SOME
        return np.where(mask, special[rng.integers(0, len(special), array.shape)], array).astype(array.dtype)
    chosen = special[rng.integers(0, len(special))]
    out = np.array(array)
    if way == 1 and array.ndim:
        axis = int(rng.integers(0, array.ndim))
        line = [slice(None) if i == axis else int(rng.integers(0, size)) for i, size in enumerate(array.shape)]
        out[tuple(line)] = chosen
    else:
        out[...] = chosen
    return out


def _exponents(shape: tuple[int, ...], info: Any, rng: np.random.Generator) -> Any:
    if rng.random() < _MODERATE:
        low, high = -_MODERATE_BITS, _MODERATE_BITS
    else:
        low, high = int(info.minexp * _MOST_BITS), int(info.maxexp * _MOST_BITS)
    return rng.integers(max(low, int(info.minexp)), min(high, int(info.maxexp) - 1), shape, endpoint=True)


def _one_scale(shape: tuple[int, ...], info: Any, rng: np.random.Generator) -> np.ndarray:
    return np.ldexp(rng.standard_normal(shape), _exponents((), info, rng))


def _many_scales(shape: tuple[int, ...], info: Any, rng: np.random.Generator) -> np.ndarray:
    return np.ldexp(rng.standard_normal(shape), _exponents(shape, info, rng))


def _near(shape: tuple[int, ...], info: Any, rng: np.random.Generator) -> np.ndarray:
    """A few numbers and their neighbours: comparisons and maxima then hang on the last bit."""
    few = rng.standard_normal(2).astype(info.dtype).astype(np.float64)
    base = few[rng.integers(0, len(few), shape)]
    return base * (1 + float(info.eps) * rng.integers(-1, 2, shape))


def _cancelling(shape: tuple[int, ...], info: Any, rng: np.random.Generator) -> np.ndarray:
    """Each number and its opposite, which differ by a little: of sums a small part is left."""
    del info
    count = math.prod(shape)
    half = rng.standard_normal((count + 1) // 2) * 16
    other = -half * (1 + rng.standard_normal(half.shape) * 2.0**-6)
    return rng.permutation(np.concatenate([half, other])[:count]).reshape(shape)


def _bytes(shape: tuple[int, ...], info: Any, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, min(255, int(float(info.max))), shape, endpoint=True)


def _halves(shape: tuple[int, ...], info: Any, rng: np.random.Generator) -> np.ndarray:
    """Ties of everything that rounds to whole numbers."""
    del info
    return rng.integers(-20, 20, shape, endpoint=True) / 2


def _alike(shape: tuple[int, ...], info: Any, rng: np.random.Generator) -> np.ndarray:
    """One number: its variance is zero, and every place of a maximum is as good."""
    return np.full(shape, np.ldexp(rng.standard_normal(), _exponents((), info, rng)))


_REAL = (_one_scale, _many_scales, _near, _cancelling, _bytes, _halves, _alike)
