"""Value ranges that hold for every runtime: a call's input ranges enter, bounds of output 0 leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from irfuzz.facts import TensorFact
from irfuzz.ir.shape_rules import Inputs, tensor

Bounds: TypeAlias = tuple[float | None, float | None]
RangeRule: TypeAlias = Callable[[Mapping[str, Any], Inputs, TensorFact], Bounds]

UNBOUNDED: Bounds = (None, None)


def bounds_of(fact: TensorFact | None) -> Bounds:
    """Bounds of a value, from its known elements where all of them are known."""
    if fact is None:
        return UNBOUNDED
    if fact.known and fact.value:
        numbers = [float(e) for e in fact.value if e is not None]
        # NaN is outside of every range and excluded by definition; a range of nothing says nothing.
        numbers = [n for n in numbers if not math.isnan(n)]
        if numbers:
            return min(numbers), max(numbers)
    return fact.low, fact.high


def _constant(low: float | None, high: float | None) -> RangeRule:
    return lambda attrs, inputs, out: (low, high)


def _same(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    return bounds_of(tensor(inputs, 0))


def _union(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    return _hull([bounds_of(tensor(inputs, i)) for i in range(len(inputs))])


def _hull(bounds: list[Bounds]) -> Bounds:
    lows, highs = [b[0] for b in bounds], [b[1] for b in bounds]
    return (
        None if None in lows or not lows else min(x for x in lows if x is not None),
        None if None in highs or not highs else max(x for x in highs if x is not None),
    )


def _where(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    return _hull([bounds_of(tensor(inputs, 1)), bounds_of(tensor(inputs, 2))])


def _relu(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    low, high = bounds_of(tensor(inputs, 0))
    return max(low or 0.0, 0.0), None if high is None else max(high, 0.0)


def _abs(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    if not out.dtype.is_floating_point():
        return UNBOUNDED  # the smallest integer has no absolute value
    low, high = bounds_of(tensor(inputs, 0))
    return 0.0, None if low is None or high is None else max(abs(low), abs(high))


def _clip(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    least = attrs["min"] if "min" in attrs else bounds_of(tensor(inputs, 1))[0]
    most = attrs["max"] if "max" in attrs else bounds_of(tensor(inputs, 2))[1]
    if least is not None and most is not None and least > most:
        return UNBOUNDED
    low, high = bounds_of(tensor(inputs, 0))
    if least is not None:
        low = max(least, low) if low is not None else least
    if most is not None:
        high = min(most, high) if high is not None else most
    return low, high


def _arg(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    data = tensor(inputs, 0)
    if data is None or data.shape is None or not data.shape:
        return 0.0, None
    size = data.shape[attrs.get("axis", 0)]
    return 0.0, float(size - 1) if type(size) is int and size > 0 else None


def _cast(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    data = tensor(inputs, 0)
    low, high = bounds_of(data)
    if data is None or low is None or high is None or out.dtype.is_string() or data.dtype.is_string():
        return UNBOUNDED
    if out.dtype.is_integer() and not data.dtype.is_floating_point():
        return (low, high) if _fits(low, high, out) else UNBOUNDED
    if out.dtype.is_integer() and not math.isinf(low) and not math.isinf(high):
        # NaN becomes some integer, and nothing says which.
        return UNBOUNDED
    # Rounding to a narrower float may move a bound by one unit of the narrower format.
    if out.dtype.is_floating_point() and max(abs(low), abs(high)) <= 2.0**11 and low == int(low) and high == int(high):
        return low, high
    return UNBOUNDED


def _fits(low: float, high: float, out: TensorFact) -> bool:
    bits = out.dtype.bitwidth
    least = -(2.0 ** (bits - 1)) if out.dtype.is_signed() else 0.0
    most = 2.0 ** (bits - 1) - 1 if out.dtype.is_signed() else 2.0**bits - 1
    return least <= low and high <= most


RANGE_RULES: Mapping[str, RangeRule] = {
    **dict.fromkeys(
        (
            "Identity", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Gather", "GatherElements",
            "GatherND", "Expand", "Tile", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "Split",
            "DepthToSpace", "SpaceToDepth",
        ),
        _same,
    ),
    **dict.fromkeys(("Concat", "Max", "Min"), _union),
    **dict.fromkeys(("Sigmoid", "HardSigmoid", "Softmax"), _constant(0.0, 1.0)),
    **dict.fromkeys(("Tanh", "Softsign", "Erf", "Sin", "Cos"), _constant(-1.0, 1.0)),
    **dict.fromkeys(("Exp", "Sqrt", "Softplus", "Shape", "Size", "NonZero"), _constant(0.0, None)),
    **dict.fromkeys(("ArgMax", "ArgMin"), _arg),
    "Relu": _relu,
    "Abs": _abs,
    "Clip": _clip,
    "Where": _where,
    "Cast": _cast,
}  # fmt: skip
