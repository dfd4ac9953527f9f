"""A program's runs with made-up rounding errors enter, how far these move its outputs leaves: what shadows share.

Runs in the worker's interpreter: imports only the standard library and numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

SMALL = 4
"""Directions in which every value is moved by one rounding error."""
WIDE = 2
"""Pairs of opposite directions in which it is moved by ``FACTOR`` of them: jumps near by show."""
FACTOR = 100.0
_WIDE = tuple((seed, sign) for seed in range(WIDE) for sign in (1.0, -1.0))
_QUICK = _WIDE[-1:]
"""Not that of the only small move, so that two directions are seen."""
_MOST = 0.01
"""Largest relative move: a hundred roundings of half precision would be another program altogether."""

PART_OF_ONE = 0.25
"""Of ``exp(x) - 1`` and approximations of ``tanh``, which go through one."""

_UNIFORM = np.random.default_rng(1987).uniform(-0.5, 0.5, 1 << 17)
POOL = _UNIFORM + np.copysign(0.5, _UNIFORM)
"""Numbers of both signs between a half and one: to cut a piece out costs less than to draw."""


def drawn(random: np.random.Generator, shape: Any, pool: Any = POOL) -> Any:
    """So many of them; a part of ``pool``, which is ``POOL`` in a framework's form, unless they are too many."""
    size = math.prod(shape)
    if size <= len(POOL) // 2:
        start = int(random.integers(len(POOL) - size))
        return pool[start : start + size].reshape(shape)
    numbers = random.uniform(-0.5, 0.5, shape)
    return np.asarray(numbers + np.copysign(0.5, numbers))


def size_of(unit: float, scale: float) -> float:
    """``scale`` times an error, of which no multiple may exceed a part of the number itself."""
    return math.copysign(max(unit, min(abs(scale) * unit, _MOST)), scale)


def refusal(error: Exception) -> tuple[dict[str, Any], list[Any]]:
    """The answer if there is no shadow."""
    return {"refused": f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"}, []


def measured(
    run: Callable[[int, float], dict[str, Any]], exact: dict[str, Any], *, quick: bool
) -> tuple[list[str], list[Any]]:
    """Names of the outputs; for each what it is, and how far the small moves and the wide ones move its elements.

    Args:
        run: gives outputs by name as arrays, with errors of a seed and a scale.
        exact: the same without errors.
        quick: a part of the directions is enough.
    """
    small = [_moved(run, seed, 1.0) for seed in (range(1) if quick else range(SMALL))]
    wide = [_moved(run, seed, sign * FACTOR) for seed, sign in (_QUICK if quick else _WIDE)]
    values: list[Any] = []
    for name, value in exact.items():
        values.append(value)
        values += [_farthest(value, [None if r is None else r.get(name) for r in runs]) for runs in (small, wide)]
    return list(exact), values


def width(coarsest: float) -> float:
    """Of how many roundings the wide moves are, if the largest unit roundoff is that."""
    return min(FACTOR, _MOST / coarsest) if coarsest else FACTOR


def _moved(run: Callable[[int, float], dict[str, Any]], seed: int, scale: float) -> dict[str, Any] | None:
    """A run with errors; ``None`` where it fails (a moved index is out of range, say)."""
    try:
        return run(seed, scale)
    except Exception:  # noqa: BLE001 - what moved values do not even run with is not decided by anybody
        return None


def _farthest(value: Any, runs: list[Any]) -> Any:
    """How far the elements of an output move at most; infinitely where an integer changes or a class does."""
    if value is None:
        return None
    if isinstance(value, list):
        alike = [run if isinstance(run, list) and len(run) == len(value) else [None] * len(value) for run in runs]
        return [_farthest(item, [run[i] for run in alike]) for i, item in enumerate(value)]
    farthest = np.zeros(value.shape)
    for after in runs:
        if not isinstance(after, np.ndarray) or after.shape != value.shape:
            farthest[...] = np.inf
            continue
        if value.dtype.kind != "f":
            farthest[after != value] = np.inf
            continue
        same = (after == value) | (np.isnan(after) & np.isnan(value))
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(after - value)
        farthest = np.maximum(farthest, np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf)))
    return farthest
