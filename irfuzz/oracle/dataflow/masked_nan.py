"""Where NaN may arise on the way to an output and be hidden again before anybody sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from irfuzz.oracle.dataflow.source_value_magnitudes import magnitude
from irfuzz.oracle.dataflow.undefined_behaviour import FedCall
from irfuzz.oracle.numeric.dtype_thresholds import HUGE, huge, is_float
from irfuzz.spec import has_trait, trait_values


def _within(low: float, high: float) -> Callable[[FedCall], bool]:
    def test(call: FedCall) -> bool:
        least, most = call.bounds(0)
        return low <= least and most <= high

    return test


def _nonzero_divisor(call: FedCall) -> bool:
    array = call.array(1)
    if array is not None:
        return not bool((array == 0).any())
    low, high = call.bounds(1)
    return low > 0 or high < 0


def _defined_power(call: FedCall) -> bool:
    exponent = call.array(1)
    if exponent is not None and bool((exponent.astype(np.float64) % 1 == 0).all()):
        return True
    return call.bounds(0)[0] >= 0


def _some_weight(call: FedCall) -> bool:
    """Whether a mean of losses is divided by something: weights are positive, and no target is ignored."""
    attrs = call.program.attrs(call.node)
    if attrs.get("reduction", "mean") not in ("mean", b"mean"):
        return True
    fact = call.program.tensor(call.input(1))
    some = fact is not None and bool(fact.size())
    return some and "ignore_index" not in attrs and (call.input(2) is None or call.bounds(2)[0] > 0)


SAFE: Mapping[str, Callable[[FedCall], bool]] = MappingProxyType(
    {
        "below_one": _within(1, np.inf),
        "beyond_one": _within(-1, 1),
        "fractional_power": _defined_power,
        "negative": _within(0, np.inf),
        "no_weight": _some_weight,
        "zero_divisor": _nonzero_divisor,
    }
)
"""By what makes NaN of ordinary numbers (the trait ``makes_nan``): whether it is known not to be met."""


def hidden_nan(calls: Iterable[FedCall]) -> str:
    """``"Asin before ArgMax"``: an operator that may make NaN stands before one that may hide it; or empty.

    Args:
        calls: what an output is computed from, in topological order.
    """
    maker = ""
    for call in calls:
        node = call.node
        if maker and (has_trait(node, "hides_nan") or (has_trait(node, "casts") and not _makes_floats(call))):
            return f"{maker} before {node.op_type}"
        met = trait_values("makes_nan").get(node.op_type)
        if not maker and met is not None and _makes_floats(call) and not SAFE[met](call):
            maker = node.op_type
    return ""


def _makes_floats(call: FedCall) -> bool:
    dtype = call.dtype(call.node.outputs[0])
    return dtype is None or is_float(dtype)


def overflowing_sum(calls: Iterable[FedCall]) -> str:
    """An operator whose sums of products may overflow on the way to finite ones; or empty.

    ``2 * 3e38 - 3 * 3e38`` is finite, but infinite, or NaN, if the products are rounded to single before they are
    added. A shadow that sees only the whole sum meets nothing of it.

    Operands that are neither fed nor constant count as 1. Half precision is left out: many add it up in single.
    """
    for call in calls:
        dtype = call.dtype(call.input(0))
        if not has_trait(call.node, "contracts") or dtype not in HUGE:
            continue
        arrays = (call.array(0), call.array(1))
        tops = [magnitude(a) for a in arrays if a is not None and is_float(a.dtype)]
        if np.prod(tops, dtype=np.longdouble) >= huge(dtype):
            return call.node.op_type
    return ""
