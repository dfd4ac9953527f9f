"""Interval arithmetic, rounded outwards (DEBAR, section 3.1.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from irfuzz.analyze.abstract_domain.number_formats import NumberFormat

INF = math.inf


@dataclass(frozen=True, slots=True)
class Range:
    """What the elements of a partition may be.

    Attributes:
        low: no element that is a number is below; ``-inf`` says that negative infinity may occur.
        high: likewise above.
        nan: NaN may occur.
        nonzero: 0 does not occur, though it may lie within the bounds.
        loose: the bounds rest on nothing better than the whole range of an element type.
    """

    low: float
    high: float
    nan: bool = False
    nonzero: bool = False
    loose: bool = False

    @property
    def zero(self) -> bool:
        """Whether 0 may occur: it lies within the bounds, and ``nonzero`` does not exclude it."""
        return self.low <= 0 <= self.high and not self.nonzero

    @property
    def finite(self) -> bool:
        """Whether every element is a finite number: NaN does not occur, and both bounds are finite."""
        return not self.nan and self.low > -INF and self.high < INF

    @property
    def magnitude(self) -> float:
        """The largest absolute value of an element, infinite if one of the bounds is; NaN does not count."""
        return max(abs(self.low), abs(self.high))

    @property
    def point(self) -> bool:
        """Whether all elements are one and the same number: the bounds are equal, and NaN does not occur."""
        return self.low == self.high and not self.nan


TOP = Range(-INF, INF, nan=True, loose=True)


def hull(ranges: Iterable[Range]) -> Range:
    """The smallest range that holds all of the given ones.

    It may hold NaN if any of them may. It excludes 0 only if each of them does, and it is loose if any of them is.

    Args:
        ranges: at least one; a single one is returned as it is.

    Raises:
        ValueError: there are none.
    """
    found = list(ranges)
    if len(found) == 1:
        return found[0]
    return Range(
        min(r.low for r in found),
        max(r.high for r in found),
        any(r.nan for r in found),
        all(r.nonzero or not r.low <= 0 <= r.high for r in found),
        any(r.loose for r in found),
    )


def meet(one: Range, other: Range) -> Range:
    """What lies in both; the first if they exclude each other, which only rounding can make them do.

    The result may hold NaN only if both may, excludes 0 if either does, and is loose only if both are.
    """
    low, high = max(one.low, other.low), min(one.high, other.high)
    if low > high:
        return one
    return Range(low, high, one.nan and other.nan, one.nonzero or other.nonzero, one.loose and other.loose)


def finite_part(r: Range, form: NumberFormat) -> Range:
    """The finite numbers of a range: what goes on after a fault was reported, so that it is reported once.

    Args:
        r: stays as it is; if it lies beyond the format, the result has its bounds in order all the same.
        form: its largest and smallest finite numbers become the bounds that infinities had.
    """
    low, high = max(r.low, form.lowest), min(r.high, form.biggest)
    return replace(r, low=min(low, high), high=max(low, high), nan=False)


def rounded(r: Range, form: NumberFormat, ulps: float = 0.0, low: float = -INF, high: float = INF) -> Range:
    """A range of exact results as one of computed results: to infinity beyond the format, outwards else.

    Integers that overflow wrap around, to anything.

    Args:
        r: of the exact results.
        form: that they are rounded to.
        ulps: units in the last place by which they may be off; 0 for what IEEE 754 rounds to the nearest, which never
            passes the nearest number beyond a bound.
        low: what no rounding passes.
        high: likewise.
    """
    if not form.floating:
        if r.low < form.lowest or r.high > form.biggest:
            return Range(form.lowest, form.biggest, loose=r.loose)
        return replace(r, nan=False) if r.nan else r
    least, most = r.low, r.high
    if ulps:
        if -INF < least < INF and least != 0:
            least -= ulps * (form.eps * abs(least) + form.smallest)
        if -INF < most < INF and most != 0:
            most += ulps * (form.eps * abs(most) + form.smallest)
    least, most = max(least, low), min(most, high)
    if r.high > form.biggest:
        most = INF
    else:
        most = form.biggest if most >= form.biggest else most if most <= form.lowest else form.above(most)
    if r.low < form.lowest:
        least = -INF
    else:
        least = form.lowest if least <= form.lowest else least if least >= form.biggest else form.below(least)
    return Range(min(least, form.biggest), max(most, form.lowest), r.nan, r.nonzero, r.loose)


def add(a: Range, b: Range) -> Range:
    """The range of exact sums of an element of each operand, before any rounding.

    NaN occurs if it may in an operand, or if infinities of opposite signs may meet. ``nonzero`` is never set.
    """
    nan = a.nan or b.nan or (a.high == INF and b.low == -INF) or (a.low == -INF and b.high == INF)
    return Range(_sum(a.low, b.low, -INF), _sum(a.high, b.high, INF), nan, loose=a.loose or b.loose)


def _sum(a: float, b: float, both: float) -> float:
    return both if math.isinf(a) and math.isinf(b) and a != b else a + b


def neg(a: Range) -> Range:
    """The range of the negated elements, which is exact: the bounds change places and signs, and everything else is
    kept.
    """
    return Range(-a.high, -a.low, a.nan, a.nonzero, a.loose)


def _product(a: float, b: float) -> float:
    """0 times infinity is 0 here: that it may be NaN is told apart."""
    return 0.0 if a == 0 or b == 0 else a * b


def mul(a: Range, b: Range) -> Range:
    """The range of exact products of an element of each operand, before any rounding.

    NaN occurs if it may in an operand, or if 0 may meet an infinity. ``nonzero`` is never set, as a product of two
    small numbers may underflow.
    """
    ends = [_product(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    wild = (a.zero and (b.low == -INF or b.high == INF)) or (b.zero and (a.low == -INF or a.high == INF))
    # A product of two that are not zero underflows to zero.
    return Range(min(ends), max(ends), a.nan or b.nan or wild, loose=a.loose or b.loose)


def square(a: Range) -> Range:
    """The range of the exact products of each element with itself, which are never negative.

    ``mul(a, a)`` is wider: it takes its operands for independent, so that [-1, 1] gives [-1, 1] and not [0, 1].
    """
    ends = (_product(a.low, a.low), _product(a.high, a.high))
    return Range(0.0 if a.low <= 0 <= a.high else min(ends), max(ends), a.nan, loose=a.loose)


def scaled(a: Range, factor: float) -> Range:
    """The range of every element times one number, before any rounding. 0 times an infinity counts as 0 here, not as
    NaN.

    Args:
        a: may have either sign.
        factor: finite or infinite; a negative one makes the bounds change places.
    """
    ends = (_product(a.low, factor), _product(a.high, factor))
    return Range(min(ends), max(ends), a.nan, loose=a.loose)


def div(a: Range, b: Range, form: NumberFormat, least: float = 0.0) -> Range:
    """The range of exact quotients; if the divisor may be 0 and the dividend need not be, it is unbounded.

    NaN occurs if it may in an operand, if both may be 0, or if both may be infinite.

    Args:
        a: the dividend.
        b: the divisor.
        form: of both; its smallest positive number is how near to 0 a divisor comes that is not 0.
        least: what is known of the divisor's magnitude besides.
    """
    loose = a.loose or b.loose
    nan = a.nan or b.nan or (a.zero and b.zero) or (a.magnitude == INF and b.magnitude == INF)
    ends: list[float] = []
    for low, high in sides(b, max(form.smallest, least)):
        ends += [_quotient(x, y) for x in (a.low, a.high) for y in (low, high)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 0.0)
    if b.zero and (a.low < 0 or a.high > 0):
        # The zero may have either sign.
        low, high = -INF, INF
    return Range(low, high, nan, loose=loose)


def _quotient(x: float, y: float) -> float:
    if math.isinf(y):
        return 0.0
    if math.isinf(x):
        return x if y > 0 else -x
    try:
        return x / y
    except OverflowError:
        return math.copysign(INF, x) * math.copysign(1.0, y)


def sides(b: Range, smallest: float) -> list[tuple[float, float]]:
    """The parts of a range below and above zero, each as its lower and upper bound, the negative one first.

    Args:
        b: a range of nothing but 0 has no parts.
        smallest: magnitude of the number that stands next to 0 on either side, and ends the part there.
    """
    found = []
    if b.low < 0:
        found.append((b.low, min(b.high, -smallest)))
    if b.high > 0:
        found.append((max(b.low, smallest), b.high))
    return found


def monotone(a: Range, f: Callable[[float], float]) -> Range:
    """The image of a range under a function that never decreases, before any rounding.

    Args:
        a: NaN stays NaN; ``nonzero`` is not kept.
        f: is called with the bounds, which may be infinite, and must return floats for them.
    """
    return Range(f(a.low), f(a.high), a.nan, loose=a.loose)


def absolute(a: Range) -> Range:
    """The range of the absolute values of the elements: from 0 if the range reaches or spans it; 0 is excluded if it
    was.
    """
    low = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Range(low, a.magnitude, a.nan, a.nonzero, a.loose)


def maximum(a: Range, b: Range) -> Range:
    """The range of the larger of an element of each operand. NaN in either operand may be the result.

    ``nonzero`` is not kept, and the result is loose if either operand is.
    """
    return Range(max(a.low, b.low), max(a.high, b.high), a.nan or b.nan, loose=a.loose or b.loose)


def minimum(a: Range, b: Range) -> Range:
    """The range of the smaller of an element of each operand, with NaN and looseness as for ``maximum``."""
    return neg(maximum(neg(a), neg(b)))


def clipped(a: Range, low: float, high: float) -> Range:
    """The range of numbers limited to ``[low, high]``; NaN stays.

    Args:
        a: if it lies beyond a limit, all that is left of it is that limit.
        low: ``-inf`` if there is no lower limit.
        high: ``inf`` if there is no upper limit. The result of two finite limits is not loose.
    """
    least, most = min(max(a.low, low), high), max(min(a.high, high), low)
    bounded = low > -INF and high < INF
    return Range(min(least, most), max(least, most), a.nan, loose=a.loose and not bounded)
