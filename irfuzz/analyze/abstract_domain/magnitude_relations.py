"""How far elements stay from 0 although their range holds it: ``Where(Abs(x) < 1e-6, 1e-6, x)`` is at least 1e-6."""

from __future__ import annotations

from irfuzz.analyze.abstract_domain.affine_relations import Symbol

_SMALL = frozenset({"Less", "LessOrEqual"})
_LARGE = frozenset({"Greater", "GreaterOrEqual"})


def least_magnitude(symbol: Symbol) -> float:
    """What the magnitude of each computed element is at least, unless it is NaN; 0 if nothing says so.

    Args:
        symbol: its range excludes 0, or it is a Where that replaces what is near 0.
    """
    bounds = symbol.range
    if bounds.low > 0 or bounds.high < 0:
        return min(abs(bounds.low), abs(bounds.high))
    operands = [arg for arg in symbol.args if isinstance(arg, Symbol)]
    if symbol.kind != "Where" or len(operands) != 3:
        return 0.0
    condition, chosen, other = operands
    if condition.kind in _SMALL:
        chosen, other = other, chosen
    elif condition.kind not in _LARGE:
        return 0.0
    size, limit = (arg for arg in condition.args if isinstance(arg, Symbol))
    if size.kind != "Abs" or size.args[-1] is not chosen:
        return 0.0
    return max(min(limit.range.low, least_magnitude(other)), 0.0)
