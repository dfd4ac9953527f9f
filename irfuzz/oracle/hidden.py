"""Calls on the way to an output enter; where NaN may arise and be hidden again before anybody sees it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from irfuzz.oracle.numbers import is_float
from irfuzz.oracle.undefined import Call
from irfuzz.spec import with_trait


def _within(low: float, high: float) -> Callable[[Call], bool]:
    def test(call: Call) -> bool:
        least, most = call.bounds(0)
        return low <= least and most <= high

    return test


def _nonzero_divisor(call: Call) -> bool:
    array = call.array(1)
    if array is not None:
        return not bool((array == 0).any())
    low, high = call.bounds(1)
    return low > 0 or high < 0


def _defined_power(call: Call) -> bool:
    exponent = call.array(1)
    if exponent is not None and bool((exponent.astype(np.float64) % 1 == 0).all()):
        return True
    return call.bounds(0)[0] >= 0


def _some_weight(call: Call) -> bool:
    """Whether a mean of losses is divided by something: weights are positive, and no target is ignored."""
    attrs = call.program.attrs(call.node)
    if attrs.get("reduction", "mean") not in ("mean", b"mean"):
        return True
    fact = call.program.tensor(call.input(1))
    some = fact is not None and bool(fact.size())
    return some and "ignore_index" not in attrs and (call.input(2) is None or call.bounds(2)[0] > 0)


SAFE: Mapping[str, Callable[[Call], bool]] = MappingProxyType(
    {
        "Acos": _within(-1, 1),
        "Asin": _within(-1, 1),
        "Atanh": _within(-1, 1),
        "Acosh": _within(1, np.inf),
        "Log": _within(0, np.inf),
        "Sqrt": _within(0, np.inf),
        "Div": _nonzero_divisor,
        "Mod": _nonzero_divisor,
        "NegativeLogLikelihoodLoss": _some_weight,
        "Pow": _defined_power,
        "ReduceLogSum": _within(0, np.inf),
        "SoftmaxCrossEntropyLoss": _some_weight,
    }
)
"""Operators that make NaN of ordinary numbers, and what is known not to."""


def hidden_nan(calls: Iterable[Call]) -> str:
    """``"Asin before ArgMax"``: an operator that may make NaN stands before one that may hide it; or empty.

    Args:
        calls: what an output is computed from, in topological order.
    """
    maker = ""
    for call in calls:
        op = call.node.op_type
        if maker and (op in with_trait("hides_nan") or (op in ("Cast", "CastLike") and not _makes_floats(call))):
            return f"{maker} before {op}"
        if not maker and op in SAFE and _makes_floats(call) and not SAFE[op](call):
            maker = op
    return ""


def _makes_floats(call: Call) -> bool:
    dtype = call.dtype(call.node.outputs[0])
    return dtype is None or is_float(dtype)
