"""By how much a correct component may miss what the shadow computes, from how its roundings move it."""

from __future__ import annotations

import numpy as np

from irfuzz.oracle.numeric.dtype_thresholds import resolution, vanishing

SAFETY = 16.0
"""How many of the largest measured moves a correct component may be off by (``docs/oracles.md`` derives it)."""

NEIGHBOURS = 0.25
"""An element's move counts as at least this part of the median move of its tensor: few directions may miss one."""

JUMP = 4.0
"""An element that wide moves displace by so many times what they would if it were linear stands near a jump."""


def bound_of(reference: np.ndarray, small: np.ndarray, wide: np.ndarray, width: float, dtype: np.dtype) -> np.ndarray:
    """The bound of every element (float64); infinite if nothing is decided.

    Args:
        reference: what the shadow computes.
        small: how far rounding errors move each element at most.
        wide: how far ``width`` times larger ones do.
        width: how many times.
        dtype: the output's own type.
    """
    # Elements at a jump say nothing of their neighbours: it does not grow with the moves.
    typical = NEIGHBOURS * median_of(np.minimum(small, JUMP / width * wide))
    with np.errstate(invalid="ignore", over="ignore"):
        own = resolution(dtype) / 2 * np.where(np.isfinite(reference), np.abs(reference), 0.0)
        unit = np.maximum.reduce([small, own, np.full_like(small, typical), wide / (2 * width)])
        bound = np.maximum(SAFETY * unit, np.where(wide > JUMP * width * np.maximum(small, own), wide, 0.0))
    return np.maximum(bound, vanishing(dtype))


def median_of(moves: np.ndarray) -> float:
    """The median of those that are finite; 0 if there are none.

    Args:
        moves: how far each element moved, of any shape.
    """
    finite = moves[np.isfinite(moves)]
    return float(np.median(finite)) if finite.size else 0.0
