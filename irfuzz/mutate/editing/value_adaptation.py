"""Adapts a value to a wanted type and shape by inserting nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import Dim, TensorFact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, INTEGER_LIMITS, runs
from irfuzz.spec import with_trait

if TYPE_CHECKING:
    from irfuzz.spec import Specs

Shape = tuple[Dim, ...]

_D = ir.DataType
_FLOAT_TO_INTEGER = 1 << 20
"""Largest magnitude that is cast from a float to an integer; exact in float32, inside int32."""

_CLIP_ANY = 12
"""First opset whose ``Clip`` runtimes have for all float types."""


def why_not(specs: Specs, opset: int, source: TensorFact, target: TensorFact) -> str | None:
    """Why ``adapt`` cannot turn ``source`` into ``target``, or ``None`` if it can.

    It cannot if a rank or size is unknown, if no cast leads from one element type to the other, or if no way leads from
    the sizes to the wanted ones. Nothing is inserted.
    """
    if source.shape is None or target.shape is None:
        return "unknown rank"
    if None in source.shape or None in target.shape:
        return "a size is unknown"  # two unknown sizes are written alike and need not be alike
    if source.dtype != target.dtype and (source.dtype not in CASTABLE or target.dtype not in CASTABLE):
        return f"no cast from {source.dtype.name} to {target.dtype.name}"
    if source.shape == target.shape:
        return None
    routes = _routes(source.shape, target.shape)
    if not routes:
        return "sizes cannot be adapted"
    dtype = source.dtype if _shapeable(specs, opset, source.dtype) else target.dtype
    if not _shapeable(specs, opset, dtype):
        return f"shapes of {dtype.name} cannot be adapted"
    if "reduce" in routes and not runs(specs, "ReduceMax", opset, dtype):
        return f"named sizes of {dtype.name} cannot be reduced"
    return None


def adapt(specs: Specs, inserter: Inserter, value: ir.Value, target: TensorFact, choices: Choices) -> ir.Value:
    """``value`` cast, reshaped, cropped, padded, reduced or expanded until it has the type and shape of ``target``.

    COMET restores types by casts, ranks by expanding and dropping dimensions and sizes by padding and cropping
    (section 3.2); here the way is drawn from all that fit. A value that fits already is returned as it is.

    Raises:
        InvalidProgram: ``why_not`` has a reason.
    """
    source = inserter.fact(value)
    reason = why_not(specs, inserter.opset, source, target)
    if reason is not None:
        raise InvalidProgram(f"cannot adapt {value.name!r}: {reason}")
    if source.dtype != target.dtype and (
        source.shape == target.shape or not _shapeable(specs, inserter.opset, source.dtype)
    ):
        value = cast(inserter, value, target.dtype)
    value = _fit(specs, inserter, value, target.shape or (), choices)
    if inserter.fact(value).dtype != target.dtype:
        value = cast(inserter, value, target.dtype)
    got = inserter.fact(value)
    if got.dtype != target.dtype or got.shape != target.shape:
        raise InvalidProgram(
            f"adapting to {target.dtype.name}{list(target.shape or ())} gave {got.dtype.name}{list(got.shape or ())}"
        )
    return value


def cast(inserter: Inserter, value: ir.Value, dtype: ir.DataType) -> ir.Value:
    """``Cast``; from floats to integers after a ``Clip``, because ONNX leaves a cast out of range open. A value that
    has the type already is given back as it is.
    """
    fact = inserter.fact(value)
    if fact.dtype == dtype:
        return value
    return inserter.cast(guarded(inserter, value, dtype), dtype)


def guarded(inserter: Inserter, value: ir.Value, dtype: ir.DataType) -> ir.Value:
    """``value``, limited to what ``dtype`` holds if a cast of floats to these integers could leave the range.

    The limits are at most 2 to the 20th, or 60000 for half precision. A value of known range within them is given back
    as it is, and so is one that needs no guard. Below opset 12 other floats become float32 first.
    """
    fact = inserter.fact(value)
    if fact.dtype.is_floating_point() and dtype in INTEGER_LIMITS:
        low, high = INTEGER_LIMITS[dtype]
        # A float16 holds at most 65504, and its Clip needs bounds that it can hold.
        limit = 60000 if fact.dtype is _D.FLOAT16 else _FLOAT_TO_INTEGER
        low, high = max(low, -limit), min(high, limit)
        if fact.low is None or fact.high is None or fact.low < low or fact.high > high:
            if inserter.opset < _CLIP_ANY and fact.dtype is not _D.FLOAT:
                value = inserter.cast(value, _D.FLOAT)
            value = inserter.clip(value, low, high)
    return value


def within(inserter: Inserter, value: ir.Value, low: float | None, high: float | None) -> ir.Value:
    """``value``, with a ``Clip`` if its elements may lie outside of ``[low, high]``; as it is if a bound is ``None``,
    if it is boolean, or if its known range lies inside.
    """
    fact = inserter.fact(value)
    if low is None or high is None or fact.dtype is _D.BOOL:
        return value
    if fact.low is not None and fact.high is not None and low <= fact.low and fact.high <= high:
        return value
    return inserter.clip(value, low, high)


def _shapeable(specs: Specs, opset: int, dtype: ir.DataType) -> bool:
    """True if the operators that change shapes run with this type."""
    return dtype in CASTABLE and all(runs(specs, op, opset, dtype) for op in ("Reshape", "Slice", "Pad", "Tile"))


def _prefix(source: Shape, target: Shape) -> int | None:
    """Length of the shortest common beginning after which all sizes of both are integers."""
    length = 0
    for index in range(max(len(source), len(target)) - 1, -1, -1):
        if (index < len(source) and type(source[index]) is not int) or (
            index < len(target) and type(target[index]) is not int
        ):
            length = index + 1
            break
    if length > min(len(source), len(target)) or source[:length] != target[:length] or None in source[:length]:
        return None
    return length


def _product(sizes: Sequence[Dim]) -> int:
    return math.prod(d for d in sizes if type(d) is int)


def _routes(source: Shape, target: Shape) -> list[str]:
    """Ways from one shape to another that exist, in a fixed order."""
    routes = []
    prefix = _prefix(source, target)
    if prefix is not None:
        have, want = _product(source[prefix:]), _product(target[prefix:])
        if have == want and have > 0:
            routes.append("reshape")
        if have > 0 and want > 0 and have != want:
            routes.append("flatten")
    if len(source) == len(target) and all(
        (a == b and a is not None) or (type(a) is int and type(b) is int and a > 0 and b > 0)
        for a, b in zip(source, target, strict=True)
    ):
        if source != target:
            routes.append("axes")
        if all(a == b or a == 1 for a, b in zip(source, target, strict=True)):
            routes.append("expand")
    if (
        not routes
        and all(type(d) is int and d > 0 for d in target)
        and all(type(d) is not int or d > 0 for d in source)
    ):
        # A named or unknown size goes away by reduction; the rest is static.
        routes.append("reduce")
    return routes


def _fit(specs: Specs, inserter: Inserter, value: ir.Value, target: Shape, choices: Choices) -> ir.Value:
    source = inserter.fact(value).shape or ()
    if source == target:
        return value
    routes = _routes(source, target)
    if not routes:
        raise InvalidProgram(f"no way from shape {list(source)} to {list(target)}")
    route = choices.pick(routes)
    if route == "axes":
        return _by_axes(specs, inserter, value, target, choices)
    if route == "expand":
        return inserter.expand(
            value, [b if type(b) is int and a != b else 1 for a, b in zip(source, target, strict=True)]
        )
    if route == "reduce":
        return _fit(specs, inserter, _reduce_named(specs, inserter, value), target, choices)
    prefix = _prefix(source, target)
    assert prefix is not None
    if route == "reshape":
        return _reshape(inserter, value, prefix, target, choices)
    have, want = _product(source[prefix:]), _product(target[prefix:])
    flat = value if len(source) == prefix + 1 else inserter.reshape(value, [0] * prefix + [have])
    flat = _resize_axis(specs, inserter, flat, prefix, have, want, choices)
    return flat if len(target) == prefix + 1 else inserter.reshape(flat, [0] * prefix + list(target[prefix:]))  # type: ignore[list-item]


def _reshape(inserter: Inserter, value: ir.Value, prefix: int, target: Shape, choices: Choices) -> ir.Value:
    """Same number of elements: ``Reshape``, or ``Squeeze``, ``Unsqueeze`` or ``Flatten`` if these do it."""
    source = inserter.fact(value).shape or ()
    sizes = [0] * prefix + list(target[prefix:])
    ways: list[tuple[Callable[..., ir.Value], Sequence[Any]]] = [(inserter.reshape, sizes)]
    if dropped := _ones_between(source, target):
        ways.append((inserter.squeeze, dropped))
    if added := _ones_between(target, source):
        ways.append((inserter.unsqueeze, added))
    way, argument = choices.pick(ways)
    return way(value, argument)


def _ones_between(longer: Shape, shorter: Shape) -> list[int] | None:
    """Axes of size 1 in ``longer`` whose removal leaves ``shorter``."""
    axes: list[int] = []
    place = 0
    for axis, size in enumerate(longer):
        left = len(longer) - axis
        if (
            place < len(shorter)
            and size == shorter[place]
            and left > 0
            and not (size == 1 and left > len(shorter) - place)
        ):
            place += 1
        elif size == 1:
            axes.append(axis)
        else:
            return None
    return axes if place == len(shorter) and axes else None


def _by_axes(specs: Specs, inserter: Inserter, value: ir.Value, target: Shape, choices: Choices) -> ir.Value:
    """Crop, pad, repeat, reduce or expand axis by axis."""
    for axis, want in enumerate(target):
        have = (inserter.fact(value).shape or ())[axis]
        if have != want and type(have) is int and type(want) is int:
            value = _resize_axis(specs, inserter, value, axis, have, want, choices)
    return value


def _resize_axis(
    specs: Specs, inserter: Inserter, value: ir.Value, axis: int, have: int, want: int, choices: Choices
) -> ir.Value:
    fact = inserter.fact(value)
    rank = fact.rank or 0
    if want < have:
        reductions = [
            op
            for op in ("ReduceMax", "ReduceMean", "ReduceSum")
            if want == 1 and _reduces(specs, inserter.opset, op, fact.dtype)
        ]
        way = choices.pick([None, *reductions])
        if way is not None:
            return inserter.reduce(way, value, [axis])
        start = choices.integer(0, have - want)
        return inserter.slice(value, [axis], [start], [start + want])
    before, after = [0] * rank, [0] * rank
    if have == 1 and choices.boolean():
        return inserter.expand(value, [want if i == axis else 1 for i in range(rank)])
    if choices.boolean(0.3):
        repeats = -(-want // have)
        value = inserter.tile(value, [repeats if i == axis else 1 for i in range(rank)])
        return value if repeats * have == want else inserter.slice(value, [axis], [0], [want])
    before[axis] = choices.integer(0, want - have)
    after[axis] = want - have - before[axis]
    return inserter.pad(value, before, after)


def _reduces(specs: Specs, opset: int, op: str, dtype: ir.DataType) -> bool:
    """True if a reduction runs with this type and gives a determined result in it."""
    return runs(specs, op, opset, dtype) and (op in with_trait("copies") or dtype.is_floating_point())


def _reduce_named(specs: Specs, inserter: Inserter, value: ir.Value) -> ir.Value:
    fact = inserter.fact(value)
    axes = [axis for axis, size in enumerate(fact.shape or ()) if type(size) is not int]
    if not axes or not runs(specs, "ReduceMax", inserter.opset, fact.dtype):
        raise InvalidProgram(f"sizes {list(fact.shape or ())} of {fact.dtype.name} cannot be reduced")
    return inserter.reduce("ReduceMax", value, axes)
