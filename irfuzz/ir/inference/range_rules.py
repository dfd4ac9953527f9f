"""Value ranges that hold for every runtime: bounds of output 0 from a call's input ranges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.inference.shape_rules import Inputs, tensor

Bounds: TypeAlias = tuple[float | None, float | None]
RangeRule: TypeAlias = Callable[[Mapping[str, Any], Inputs, TensorFact], Bounds]

UNBOUNDED: Bounds = (None, None)

_ONE = 1 + 2.0**-20
"""What stays within 1 in exact arithmetic: ONNXRuntime's Tanh gives 1.0000002, two units more in single precision."""


def bounds_of(fact: TensorFact | None) -> Bounds:
    """Bounds ``(low, high)`` of a value, from its known elements if all of them are known.

    Either is ``None`` if nothing bounds that side; both are for ``None``. NaN among the elements does not count.
    """
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


def _below(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    """MaxPool: of a window of padding and NaN, ONNXRuntime gives the lowest number there is."""
    return None, bounds_of(tensor(inputs, 0))[1]


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


def _extreme(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    data = tensor(inputs, 0)
    # The extreme of no elements is an infinity, or the end of an integer type.
    if data is None or data.shape is None or any(type(d) is not int or d == 0 for d in data.shape):
        return UNBOUNDED
    return bounds_of(data)


def _clip(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    least = _limit(attrs, inputs, "min", 1, (-math.inf, -math.inf))
    most = _limit(attrs, inputs, "max", 2, (math.inf, math.inf))
    low, high = _open(bounds_of(tensor(inputs, 0)))
    low, high = min(max(low, least[0]), most[0]), min(max(high, least[1]), most[1])
    if least[1] > most[0]:
        # Where the limits cross, runtimes give the lower one, as ONNX has it since opset 13, or the upper one.
        low, high = min(low, least[0]), max(high, least[1])
    return (None if low == -math.inf else low), (None if high == math.inf else high)


def _limit(
    attrs: Mapping[str, Any], inputs: Inputs, name: str, place: int, absent: tuple[float, float]
) -> tuple[float, float]:
    """Bounds of one limit of Clip: an attribute before opset 11, an input since."""
    if name in attrs:
        return attrs[name], attrs[name]
    if place >= len(inputs) or inputs[place] is None:
        return absent
    return _open(bounds_of(tensor(inputs, place)))


def _open(bounds: Bounds) -> tuple[float, float]:
    """Nothing known as infinite bounds."""
    return (-math.inf if bounds[0] is None else bounds[0]), (math.inf if bounds[1] is None else bounds[1])


def _arg(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    data = tensor(inputs, 0)
    axis = attrs.get("axis", 0)
    if data is None or data.shape is None or not -len(data.shape) <= axis < len(data.shape):
        return 0.0, None
    size = data.shape[axis]
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
    # Rounding to a narrower float may move a bound by one unit of the narrower format, unless it holds the bound.
    exact = _EXACT_INTEGERS.get(out.dtype, 0.0)
    if max(abs(low), abs(high)) <= exact and low == int(low) and high == int(high):
        return low, high
    return UNBOUNDED


_EXACT_INTEGERS: Mapping[ir.DataType, float] = {
    ir.DataType.DOUBLE: 2.0**53,
    ir.DataType.FLOAT: 2.0**24,
    ir.DataType.FLOAT16: 2.0**11,
    ir.DataType.BFLOAT16: 2.0**8,
}
"""Up to where each type holds every integer."""


def _uniform(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    """RandomUniform draws from [low, high); the formula that scales a number to it may round past either end."""
    low, high = float(attrs.get("low", 0.0)), float(attrs.get("high", 1.0))
    if low > high or math.isinf(low) or math.isinf(high):
        return UNBOUNDED
    slack = max(abs(low), abs(high)) * (2.0**-8 if out.dtype.bitwidth < 32 else 2.0**-20)
    return low - slack, high + slack


def _class(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
    """Multinomial gives indices of classes; if probabilities are NaN, onnxruntime 1.31.1 gives one beyond them."""
    data = tensor(inputs, 0)
    classes = data.shape[1] if data is not None and data.shape is not None and len(data.shape) == 2 else None
    return 0.0, float(classes) if type(classes) is int else None


def _less(strict: bool, swapped: bool) -> RangeRule:
    """Less and its like if the ranges of the operands decide; NaN compares as false and is in every range."""

    def rule(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Bounds:
        a, b = (tensor(inputs, i) for i in ((1, 0) if swapped else (0, 1)))
        low, high = _open(bounds_of(a))
        least, most = _open(bounds_of(b))
        if any(_UNEVEN <= abs(bound) < math.inf for bound in (low, high, least, most)):
            return UNBOUNDED  # bounds are doubles, in which neighbouring integers of that size are one number
        if low >= most if strict else low > most:
            return 0.0, 0.0
        whole = a is not None and b is not None and a.dtype.is_integer() and b.dtype.is_integer()
        if whole and (high < least if strict else high <= least):
            return 1.0, 1.0
        return UNBOUNDED

    return rule


_UNEVEN = 2.0**53


def _fits(low: float, high: float, out: TensorFact) -> bool:
    bits = out.dtype.bitwidth
    least = -(2.0 ** (bits - 1)) if out.dtype.is_signed() else 0.0
    most = 2.0 ** (bits - 1) - 1 if out.dtype.is_signed() else 2.0**bits - 1
    return least <= low and high <= most


RANGE_RULES: Mapping[str, RangeRule] = {
    "about_minus_one_to_one": _constant(-_ONE, _ONE),
    "about_zero_to_one": _constant(0.0, _ONE),
    "as_input": _same,
    "below": _below,
    "cast": _cast,
    "class": _class,
    "clipped": _clip,
    "drawn": _uniform,
    "either": _where,
    "extreme": _extreme,
    "greater": _less(strict=True, swapped=True),
    "greater_or_equal": _less(strict=False, swapped=True),
    "less": _less(strict=True, swapped=False),
    "less_or_equal": _less(strict=False, swapped=False),
    "magnitude": _abs,
    "not_negative": _constant(0.0, None),
    "place": _arg,
    "rectified": _relu,
    "union": _union,
    "zero_to_one": _constant(0.0, 1.0),
}
"""By name (the trait ``result_range``): within which bounds the elements of the first output lie."""
