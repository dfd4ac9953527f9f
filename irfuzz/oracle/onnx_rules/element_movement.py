"""Operators that move elements: each is as open as it was before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irfuzz.ir.evaluation.exact_integer_rules import MOVES
from irfuzz.oracle.onnx_rules.known_elements import Elements, Given, Rule, RuleCall, known, need


def moved(data: Sequence[int] | None = (0,)) -> Rule:
    """The operator's rule in ``MOVES``, on elements and on which of them are decided.

    Args:
        data: which inputs hold elements, all if ``None``; others say where they go, and have to be known.
    """

    def run(call: RuleCall, given: Given) -> Elements | None:
        rule = MOVES[call.op]
        parts = [e if e is None or data is None or i in data else Elements.whole(known(e)) for i, e in enumerate(given)]
        values = rule(call.attrs, [None if e is None else e.values for e in parts])
        marks = [
            None if e is None else e.decided if data is None or i in data else e.values for i, e in enumerate(parts)
        ]
        decided = rule(call.attrs, marks)
        if not isinstance(values, np.ndarray) or not isinstance(decided, np.ndarray):
            return None
        return Elements(values, decided.astype(bool))

    return run


def where(_call: RuleCall, given: Given) -> Elements:
    """Elements of the second or third input, by the first, all three broadcast.

    An element is decided if the condition is and the one that it chooses; the other one may be open.
    """
    condition, one, other = map(need, given)
    chosen = np.where(condition.values, one.decided, other.decided) & condition.decided
    return Elements(np.where(condition.values, one.values, other.values), chosen)


def trilu(call: RuleCall, given: Given) -> Elements:
    """The triangle stays, the rest is zero, whatever stood there.

    So zeros are decided even if what they stand for is open. ``upper`` says which triangle; the second input moves its
    edge, 0 if it is left out.
    """
    x = need(given[0])
    k = int(known(given[1]).reshape(-1)[0]) if len(given) > 1 and given[1] is not None else 0
    inside = np.ones(x.values.shape[-2:], bool)
    inside = np.triu(inside, k) if call.attrs.get("upper", 1) else np.tril(inside, k)
    zero = np.zeros((), x.values.dtype)
    return Elements(np.where(inside, x.values, zero), x.decided | ~inside)


def split(call: RuleCall, given: Given) -> list[Elements] | None:
    """Parts along an axis, one for each output.

    Sizes come from the second input, else from the attribute ``split`` of older versions, else they are equal.

    Returns:
        ``None`` if no sizes are given and the axis cannot be divided evenly.
    """
    x = need(given[0])
    axis, count = int(call.attrs.get("axis", 0)), len(call.dtypes)
    sizes = known(given[1]).tolist() if len(given) > 1 and given[1] is not None else call.attrs.get("split")
    if sizes is None:
        if x.values.shape[axis] % count:
            return None
        sizes = [x.values.shape[axis] // count] * count
    ends = np.cumsum(sizes)[:-1]
    parts = zip(np.split(x.values, ends, axis), np.split(x.decided, ends, axis), strict=True)
    return [Elements(values, decided) for values, decided in parts]
