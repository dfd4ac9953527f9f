"""Element-wise relations between partitions (DEBAR, section 3.1.3), as linear forms of symbols.

A symbol stands for the elements of a partition, as they were computed. Equal operations on equal symbols give the same
symbol, so that a value that is computed twice is known to be one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from irfuzz.analyze.abstract_domain.interval import INF, Range, meet, scaled
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat

DOUBLE = 2.0**-52
"""Distance from 1 to the next number of double precision."""

MOST_TERMS = 8
"""A longer sum becomes a symbol of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """The computed elements of a partition, by position.

    Attributes:
        kind: the operation that made them, or ``input``, ``constant``, ``value``.
        args: symbols and whatever else decides them.
        range: of every element.
    """

    kind: str
    args: tuple[Hashable, ...]
    range: Range = field(compare=False)


@dataclass(frozen=True, slots=True)
class LinearForm:
    """``sum of factor * symbol + constant``, element by element: what a partition is in real arithmetic.

    Attributes:
        terms: symbols, each once, with factors that are not 0, in the order of their creation.
        constant: what is added.
        error: how far a computed element may be from the form.
        single: the computed element is the form, rounded once: comparisons of forms hold for the elements too.
    """

    terms: tuple[tuple[Symbol, float], ...]
    constant: float = 0.0
    error: float = 0.0
    single: bool = True

    def range(self) -> Range:
        """Bounds of the form itself, without its error, from the ranges of its symbols.

        If a term is Relu or Abs of the symbol of another term, whose range is finite, the two are bounded together,
        which is tighter than one by one (DEBAR's ReLU relation). The bounds are infinite if infinities of both signs
        would meet.
        """
        factors = dict(self.terms)
        found: list[Range] = []
        for symbol, factor in self.terms:
            base = symbol.args[0] if symbol.kind in _BENDS else None
            if isinstance(base, Symbol) and base in factors and symbol in factors and base.range.finite:
                found.append(_bent(symbol.kind, base.range, factor, factors.pop(base)))
                del factors[symbol]
        found += [scaled(symbol.range, factor) for symbol, factor in factors.items()]
        low = self.constant + sum(r.low for r in found)
        high = self.constant + sum(r.high for r in found)
        nan = any(r.nan for r in found)
        loose = any(r.loose for r in found)
        return Range(-INF if math.isnan(low) else low, INF if math.isnan(high) else high, nan, loose=loose)


_BENDS: Mapping[str, Callable[[float], float]] = {"Relu": lambda x: max(x, 0.0), "Abs": abs}
"""Functions of one symbol that are linear on both sides of 0 (the paper's ReLU relation, and the same for |x|)."""


def _bent(kind: str, base: Range, factor: float, other: float) -> Range:
    """Bounds of ``factor * kind(s) + other * s``."""
    corner = min(max(0.0, base.low), base.high)
    ends = [factor * _BENDS[kind](x) + other * x for x in (base.low, corner, base.high)]
    return Range(min(ends), max(ends), loose=base.loose)


class Symbols:
    """All symbols of an analysis.

    Args:
        affine: keep linear forms; without, every computed partition is a symbol of its own (intervals only).
        relations: know more than linear ones: squares, the largest of all, shares of a sum, conditions.
    """

    __slots__ = ("_count", "_table", "affine", "relations")

    def __init__(self, *, affine: bool = True, relations: bool = True) -> None:
        self._table: dict[tuple[Hashable, ...], Symbol] = {}
        self._count = 0
        self.affine = affine
        self.relations = relations and affine

    def make(self, kind: str, args: tuple[Hashable, ...], bounds: Range) -> Symbol:
        """The symbol of an operation: the known one if the same operation was asked for before, else a new one.

        Without ``affine`` it is always a new one.

        Args:
            kind: name of the operation.
            args: operand symbols and whatever else decides the result; equal ones give the same symbol.
            bounds: of every element. A known symbol keeps the bounds that it was made with.
        """
        if not self.affine:
            return Symbol(kind, args, bounds)
        key = (kind, *args)
        known = self._table.get(key)
        if known is None:
            known = self._table[key] = Symbol(kind, args, bounds)
        return known

    def fresh(self, bounds: Range) -> Symbol:
        """A new symbol that is equal to no other, for elements about whose origin nothing is known but their bounds."""
        self._count += 1
        return Symbol("value", (self._count,), bounds)

    def form(self, symbol: Symbol) -> LinearForm:
        """The linear form ``1 * symbol + 0`` of a symbol, which has no error and counts as rounded once."""
        return LinearForm(((symbol, 1.0),))


def combined(a: LinearForm, b: LinearForm, sign: float) -> LinearForm | None:
    """``a + sign * b`` in real arithmetic, with the errors of both added up; ``None`` if it gets too long.

    Symbols of both forms are put together, and those whose factors cancel are left out: ``(x + y) - x`` is ``y``.

    Args:
        a: stays as it is.
        b: likewise.
        sign: 1.0 for a sum, -1.0 for a difference.
    """
    factors = dict(a.terms)
    for symbol, factor in b.terms:
        total = factors.get(symbol, 0.0) + sign * factor
        if total == 0:
            factors.pop(symbol, None)
        else:
            factors[symbol] = total
    if len(factors) > MOST_TERMS:
        return None
    return LinearForm(tuple(factors.items()), a.constant + sign * b.constant, a.error + b.error, single=False)


def times(a: LinearForm, factor: float) -> LinearForm:
    """A form times a number, in real arithmetic: terms, constant and error are multiplied.

    Args:
        a: stays as it is.
        factor: any finite number; 0 gives the form of the constant 0, without terms and error.
    """
    if factor == 0:
        return LinearForm(())
    terms = tuple((symbol, f * factor) for symbol, f in a.terms)
    return LinearForm(terms, a.constant * factor, a.error * abs(factor), single=False)


def computed(exact: LinearForm, bounds: Range, form: NumberFormat, *, fresh: bool) -> LinearForm:
    """A form after the rounding of the operation that computed it: the same terms with a larger error.

    Args:
        exact: the form in real arithmetic.
        bounds: of the result; their magnitude decides how far rounding may move it. Infinite ones give an infinite
            error.
        form: that the result is rounded to.
        fresh: the operands had no error, so that the result is the exact form, rounded once.
    """
    # Half of it is the rounding; the rest covers that forms are added up in double precision.
    share = form.eps if form.eps > DOUBLE else 2 * DOUBLE
    error = exact.error + (share * bounds.magnitude + form.smallest if bounds.magnitude < INF else INF)
    return LinearForm(exact.terms, exact.constant, error, single=fresh)


def bounds_of(exact: LinearForm, operands: tuple[LinearForm, LinearForm], sign: float, direct: Range) -> Range:
    """What is known of a computed sum: its range by intervals, and by its form if that is finite.

    Rounding never turns an order around, so the sign of a difference of two forms that were rounded once is that of the
    difference of what was computed.

    Args:
        exact: of the sum, with its error.
        operands: forms of the two that were added.
        sign: 1.0 for a sum, -1.0 for a difference.
        direct: the range by intervals, which the result never exceeds.
    """
    real = exact.range()
    if math.isnan(exact.error) or exact.error == INF or real.low == -INF or real.high == INF:
        return direct
    low, high = real.low - exact.error, real.high + exact.error
    if sign < 0 and operands[0].single and operands[1].single:
        if real.low >= 0:
            low = max(low, 0.0)
        if real.high <= 0:
            high = min(high, 0.0)
    return meet(direct, Range(low, high, direct.nan, loose=real.loose and direct.loose))
