"""Relations of elements to their norm: a root of a sum of squares is at least the magnitude of each of them.

That holds for computed numbers, too: the root of a rounded square is the magnitude itself, a sum of numbers that are
not negative is at least each of them in any order, and no rounding turns an order around. Only if a square is
subnormal the norm may come out too small. So ``x / norm(x)`` may be above 1, but ``x / (norm(x) + 1e-6)`` is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from irfuzz.analyze.abstract_domain.affine_relations import Symbol
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat
from irfuzz.analyze.abstract_domain.reduction_relations import is_reduction, unspread


def covers(symbol: Symbol, of: Symbol, form: NumberFormat) -> bool:
    """Whether each computed element of ``symbol`` is at least the magnitude of the element of ``of`` at its place.

    Args:
        symbol: a norm of ``of``, perhaps with an epsilon, spread over it again.
        of: floating point.
        form: of both.
    """
    symbol = unspread(symbol)
    if _sum_of_magnitudes(symbol, of):
        return True
    # Up to this magnitude squares are subnormal.
    tiny = math.sqrt(form.smallest / form.eps) if form.eps else math.inf
    for inner, least in _raised(symbol):
        if (least >= 0 and covers(inner, of, form)) or (least >= tiny and _is_norm(inner, of, form, least)):
            return True
    if symbol.kind != "Sqrt":
        return False
    (squares,) = _operands(symbol)
    return any(
        least >= tiny * tiny and _sums_squares(inner, of, form, math.sqrt(least) / 2)
        for inner, least in _raised(unspread(squares))
    )


def _raised(symbol: Symbol) -> Iterator[tuple[Symbol, float]]:
    """What a symbol is at least: an operand of a sum or maximum, and how large the rest surely is."""
    operands = _operands(symbol)
    if symbol.kind in ("Add", "Max") and len(operands) == 2:
        for one, other in (operands, operands[::-1]):
            if not other.range.nan and other.range.low >= 0:
                yield unspread(one), other.range.low
    elif symbol.kind == "Clip" and operands[-1].range.high == symbol.range.high:  # the upper limit cuts nothing off
        yield unspread(operands[-1]), symbol.range.low


def _sum_of_magnitudes(symbol: Symbol, of: Symbol) -> bool:
    """ReduceL1, and the largest magnitude."""
    if is_reduction(symbol, "ReduceL1", of):
        return True
    inner = symbol.args[0] if symbol.args else None
    if symbol.kind not in ("ReduceMax", "ReduceSum") or not isinstance(inner, Symbol) or inner.kind != "Abs":
        return False
    return _operands(inner) == [of] and is_reduction(symbol, symbol.kind, inner)


def _is_norm(symbol: Symbol, of: Symbol, form: NumberFormat, least: float) -> bool:
    if symbol.kind == "Sqrt":
        (squares,) = _operands(symbol)
        return _sums_squares(unspread(squares), of, form, least)
    return is_reduction(symbol, "ReduceL2", of)


def _sums_squares(symbol: Symbol, of: Symbol, form: NumberFormat, least: float) -> bool:
    """Whether it sums squares; powers may be off by a unit or two, for which ``least`` beside the root has to do."""
    if is_reduction(symbol, "ReduceSumSquare", of):
        return True
    square = symbol.args[0] if symbol.kind == "ReduceSum" else None
    if not isinstance(square, Symbol) or not is_reduction(symbol, "ReduceSum", square):
        return False
    if square.kind == "Mul":
        return _operands(square) == [of, of]
    if square.kind != "Pow" or not of.range.magnitude * 2 * form.eps <= least:
        return False
    base, exponent = _operands(square)
    return base is of and exponent.kind == "constant" and exponent.range.low == 2


def _operands(symbol: Symbol) -> list[Symbol]:
    return [arg for arg in symbol.args if isinstance(arg, Symbol)]
