"""What symbols are of each other: reductions of one, and what broadcasting spreads over it again."""

from __future__ import annotations

from irfuzz.analyze.abstract_domain.affine_relations import Symbol


def is_reduction(reduced: Symbol, kind: str, symbol: Symbol) -> bool:
    """``reduced`` reduces ``symbol``, and broadcasting puts each result back over the elements that it is of.

    If the reduced axes are dropped, it does so only if they were the first ones.

    Args:
        reduced: perhaps the result of a reduction; give what ``unspread`` returns.
        kind: the operator, such as ``ReduceMax``.
        symbol: what it has to be a reduction of.
    """
    if reduced.kind != kind or reduced.args[0] is not symbol:
        return False
    axes, dropped = reduced.args[1:3]
    return not dropped or (isinstance(axes, tuple) and axes == tuple(range(len(axes))))


def unspread(symbol: Symbol) -> Symbol:
    """What a symbol is a broadcast of, however often it was broadcast; the symbol itself if it was not.

    Only broadcasting is undone (moves by ``expand``), no other movement of elements.
    """
    while symbol.kind == "moved" and symbol.args[1] == "expand":
        inner = symbol.args[0]
        assert isinstance(inner, Symbol)
        symbol = inner
    return symbol
