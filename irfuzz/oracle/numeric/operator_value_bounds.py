"""Between which numbers the floats lie that an operator computes from floats within known bounds, however it rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from irfuzz.oracle.numeric.dtype_thresholds import largest

Bounds: TypeAlias = tuple[float, float]
Rule: TypeAlias = Callable[[Sequence[Bounds]], Bounds]

UNBOUNDED: Bounds = (-np.inf, np.inf)

_SLACK = 2.0**-6
"""Of the largest magnitude on the way: by how much roundings move a bound at most, also in 16 bits."""

_LEAST_BITS = 16
"""Of a float of which a rounding is smaller than that."""


def _hull(given: Sequence[Bounds]) -> Bounds:
    return min(low for low, _ in given), max(high for _, high in given)


def _sum(given: Sequence[Bounds]) -> Bounds:
    return sum(low for low, _ in given), sum(high for _, high in given)


def _mean(given: Sequence[Bounds]) -> Bounds:
    low, high = _sum(given)
    return low / len(given), high / len(given)


def _difference(given: Sequence[Bounds]) -> Bounds:
    (low, high), (least, most) = given
    return low - most, high - least


def _product(given: Sequence[Bounds]) -> Bounds:
    ends = [a * b for a in given[0] for b in given[1]]
    return min(ends), max(ends)


def _quotient(given: Sequence[Bounds]) -> Bounds:
    least, most = given[1]
    return UNBOUNDED if least <= 0 <= most else _product([given[0], (1 / least, 1 / most)])


def _magnitude(given: Sequence[Bounds]) -> Bounds:
    low, high = given[0]
    return max(low, -high, 0.0), max(-low, high)


def _rounded(given: Sequence[Bounds]) -> Bounds:
    low, high = given[0]
    return low - 1, high + 1


def _first(given: Sequence[Bounds]) -> Bounds:
    return given[0]


def _magnitudes(given: Sequence[Bounds]) -> float:
    return sum(max(abs(low), abs(high)) for low, high in given)


def _largest(given: Sequence[Bounds]) -> Bounds:
    return max(low for low, _ in given), max(high for _, high in given)


def _least(given: Sequence[Bounds]) -> Bounds:
    return min(low for low, _ in given), min(high for _, high in given)


_ALL, _FIRST, _BUT_FIRST = slice(None), slice(1), slice(1, None)

# Each operator's own formula.
_RULES: Mapping[str, tuple[slice, Rule]] = {
    "Abs": (_ALL, _magnitude),
    "Add": (_ALL, _sum),
    "Cast": (_ALL, _first),
    "Ceil": (_ALL, _rounded),
    "Concat": (_ALL, _hull),
    "Div": (_ALL, _quotient),
    "Expand": (_FIRST, _first),
    "Flatten": (_ALL, _first),
    "Floor": (_ALL, _rounded),
    "Gather": (_FIRST, _first),
    "Identity": (_ALL, _first),
    "Max": (_ALL, _largest),
    "Mean": (_ALL, _mean),
    "Min": (_ALL, _least),
    "Mul": (_ALL, _product),
    "Neg": (_ALL, lambda given: (-given[0][1], -given[0][0])),
    "Relu": (_ALL, lambda given: (max(given[0][0], 0.0), max(given[0][1], 0.0))),
    "Reshape": (_FIRST, _first),
    "Round": (_ALL, _rounded),
    "Slice": (_FIRST, _first),
    "Squeeze": (_FIRST, _first),
    "Sub": (_ALL, _difference),
    "Sum": (_ALL, _sum),
    "Tile": (_FIRST, _first),
    "Transpose": (_ALL, _first),
    "Unsqueeze": (_FIRST, _first),
    "Where": (_BUT_FIRST, _hull),
}
"""By operator: which inputs decide, and exact bounds of the result by theirs."""

_ADD = frozenset({_sum, _mean, _difference})
"""Rules of sums, on the way of which numbers may be as large as all magnitudes together, and cancel."""


def reads(op: str, count: int) -> range:
    """Which inputs of a call of an operator decide the bounds of its result; none if it has no rule."""
    return range(count)[_RULES[op][0]] if op in _RULES else range(0)


def bounds_after(op: str, given: Sequence[Bounds], dtype: np.dtype) -> Bounds:
    """Bounds of what an operator computes.

    Args:
        op: has a rule.
        given: bounds of the inputs that ``reads`` names.
        dtype: of the result, a float's.
    """
    if not given or 8 * dtype.itemsize < _LEAST_BITS or not np.isfinite(given).all():
        return UNBOUNDED
    rule = _RULES[op][1]
    low, high = rule(given)
    top = _magnitudes(given) if rule in _ADD else max(abs(low), abs(high))
    # What is near the largest number may round to infinity.
    return UNBOUNDED if not top < largest(dtype) / 2 else (low - _SLACK * top, high + _SLACK * top)
