"""What operators make of whole numbers that are known: exact results, however large, and elements that are moved.

Rules of arithmetic take and give Python's integers in object arrays, so that nothing wraps around. Whether a result
fits its type is for the caller (``irfuzz.ir.evaluation.exact_integer_evaluation``) to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.ir.evaluation.constant_values import FOLDS

Attrs: TypeAlias = Mapping[str, Any]
Given: TypeAlias = "list[np.ndarray | None]"
Rule: TypeAlias = "Callable[[Attrs, Given], np.ndarray | list[np.ndarray] | None]"
"""From a node's attributes and inputs, ``None`` for one that is left out, to its outputs, or its first one alone;
``None`` if it is not computed here."""

_LARGE_POWER = 128
"""Of any base but 0, 1 and -1 this power is beyond every integer type."""


def exact(array: np.ndarray | None) -> np.ndarray:
    """The elements as Python's integers, in a new array of objects of the same shape.

    Raises:
        ValueError: the input is left out (``None``).
    """
    if array is None:
        raise ValueError("an input is left out")
    return array.astype(object)


def _elementwise(function: Callable[..., Any]) -> Rule:
    """A function of Python's integers, on operands that are broadcast."""
    return lambda attrs, given: _objects(function(*map(exact, given)))


def _objects(result: Any) -> np.ndarray:
    # NumPy unwraps a single object, so it is wrapped again.
    return np.asarray(result, dtype=object)


def _folded(function: Callable[[Any, Any], Any]) -> Rule:
    """The same over any number of operands."""

    def rule(attrs: Attrs, given: Given) -> np.ndarray:
        first, *others = map(exact, given)
        for other in others:
            first = function(first, other)
        return _objects(first)

    return rule


def _quotient(a: Any, b: Any) -> Any:
    """Towards zero, as runtimes divide."""
    if not np.all(b):
        raise ValueError("division by zero")
    # Signs as objects: a single one of NumPy's integers would wrap around.
    return np.abs(a) // np.abs(b) * exact(np.where((a < 0) == (b < 0), 1, -1))


def _modulo(attrs: Attrs, given: Given) -> np.ndarray:
    a, b = map(exact, given)
    if not np.all(b):
        raise ValueError("division by zero")
    return _objects(a - _quotient(a, b) * b if attrs.get("fmod") else a % b)


def _power(attrs: Attrs, given: Given) -> np.ndarray | None:
    base, exponent = given
    if exponent is None or exponent.dtype.kind not in "iu" or (exponent < 0).any():
        return None  # in which precision a power of a fraction is computed is not said
    small = np.where(exponent > _LARGE_POWER, _LARGE_POWER + exponent % 2, exponent)
    return _objects(exact(base) ** exact(small))


def _clip(attrs: Attrs, given: Given) -> np.ndarray:
    found = exact(given[0])
    for limit, choose in zip(given[1:], (np.maximum, np.minimum), strict=False):
        found = found if limit is None else choose(found, exact(limit))
    return _objects(found)


def axes_of(attrs: Attrs, given: Given, rank: int) -> tuple[int, ...]:
    """The axes along which a call reduces: of its second input or its attribute, else all or none.

    Without axes it reduces along all of them, unless ``noop_with_empty_axes`` is set.

    Args:
        attrs: of the call.
        given: its inputs.
        rank: of its first input.

    Returns:
        Axes as they are written, negative ones too.
    """
    second = given[1] if len(given) > 1 else None
    axes = attrs.get("axes", ()) if second is None else second.reshape(-1).tolist()
    return tuple(axes) or (() if attrs.get("noop_with_empty_axes") else tuple(range(rank)))


def _reduction(function: Callable[..., Any], first: Callable[[Any], Any] = lambda x: x) -> Rule:
    """A reduction over what ``first`` makes of the elements."""

    def rule(attrs: Attrs, given: Given) -> np.ndarray:
        array = exact(given[0])
        axes, keep = axes_of(attrs, given, array.ndim), bool(attrs.get("keepdims", 1))
        return _objects(function(_objects(first(array)), axis=axes, keepdims=keep))

    return rule


def _mean(attrs: Attrs, given: Given) -> np.ndarray | None:
    total = REDUCED_SUM(attrs, given)
    assert isinstance(total, np.ndarray)
    array = exact(given[0])
    count = math.prod(array.shape[axis] for axis in axes_of(attrs, given, array.ndim))
    return _objects(_quotient(total, _objects(count))) if count else None


def _running(operation: np.ufunc, neutral: int) -> Rule:
    def rule(attrs: Attrs, given: Given) -> np.ndarray:
        array = exact(given[0])
        assert given[1] is not None
        axis = int(given[1].reshape(-1)[0])
        if attrs.get("reverse"):
            array = np.flip(array, axis)
        found = operation.accumulate(array, axis=axis)
        if attrs.get("exclusive"):
            start = np.full_like(np.take(found, [0], axis), neutral) if array.shape[axis] else found
            found = np.concatenate([start, np.delete(found, -1, axis)], axis) if array.shape[axis] else found
        return _objects(np.flip(found, axis) if attrs.get("reverse") else found)

    return rule


def _einsum(attrs: Attrs, given: Given) -> np.ndarray:
    equation = attrs["equation"]
    text = equation.decode() if isinstance(equation, bytes) else str(equation)
    return _objects(np.einsum(text.replace(" ", ""), *map(exact, given)))


def _cast(attrs: Attrs, given: Given) -> np.ndarray | None:
    to = ir.DataType(attrs["to"])
    array = given[0]
    if array is None or not (to.is_integer() or to is ir.DataType.BOOL) or to.bitwidth < 8:
        return None
    if array.dtype.kind == "f" and to is not ir.DataType.BOOL:
        wide = array.astype(np.float64)
        limits = np.iinfo(to.numpy())
        if not ((wide > float(limits.min) - 1) & (wide < float(limits.max))).all():
            return None
    return array.astype(to.numpy())


def _taken(attrs: Attrs, given: Given) -> np.ndarray:
    data, indices = given
    assert data is not None
    assert indices is not None
    return np.take(data, indices, axis=attrs.get("axis", 0))


def _sliced(attrs: Attrs, given: Given) -> np.ndarray | None:
    data, *parts = given
    if data is None or len(parts) < 2:
        return None
    starts, ends, axes, steps = ([None if p is None else p.tolist() for p in parts] + [None, None])[:4]
    assert starts is not None
    assert ends is not None
    index: list[slice] = [slice(None)] * data.ndim
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis, step = place if axes is None else axes[place], 1 if steps is None else steps[place]
        # An end below the first element, of a slice that goes backwards, is no place from behind.
        index[axis] = slice(start, None if step < 0 and end < -data.shape[axis] else end, step)
    return data[tuple(index)]


def _flattened(attrs: Attrs, given: Given) -> np.ndarray:
    data = given[0]
    assert data is not None
    axis = attrs.get("axis", 1)
    return (
        data.reshape(math.prod(data.shape[:axis]), -1) if data.size else data.reshape(math.prod(data.shape[:axis]), 0)
    )


def _tiled(attrs: Attrs, given: Given) -> np.ndarray:
    data, repeats = given
    assert data is not None
    assert repeats is not None
    return np.tile(data, repeats.tolist())


def _typed(function: Callable[..., Any]) -> Rule:
    """A function of NumPy's that needs no room beyond the type of its operands."""
    return lambda attrs, given: np.asarray(function(*given))


def _moved(op: str) -> Rule:
    fold = FOLDS[op]
    return lambda attrs, given: fold(dict(attrs), [a for a in given if a is not None])


REDUCED_SUM = _reduction(np.add.reduce)

# Each operator's own arithmetic.
EXACT: Mapping[str, Rule] = {
    "Abs": _elementwise(np.abs),
    "Add": _elementwise(np.add),
    "Clip": _clip,
    "CumProd": _running(np.multiply, 1),
    "CumSum": _running(np.add, 0),
    "Div": _elementwise(_quotient),
    "Einsum": _einsum,
    "MatMul": _elementwise(np.matmul),
    "Max": _folded(np.maximum),
    "Min": _folded(np.minimum),
    "Mod": _modulo,
    "Mul": _elementwise(np.multiply),
    "Neg": _elementwise(np.negative),
    "Pow": _power,
    "ReduceL1": _reduction(np.add.reduce, np.abs),
    "ReduceMax": _reduction(np.maximum.reduce),
    "ReduceMean": _mean,
    "ReduceMin": _reduction(np.minimum.reduce),
    "ReduceProd": _reduction(np.multiply.reduce),
    "ReduceSum": REDUCED_SUM,
    "ReduceSumSquare": _reduction(np.add.reduce, np.square),
    "Sub": _elementwise(np.subtract),
}
"""Arithmetic on whole numbers; results may lie beyond their type."""

# What the exact result is made of on the way, where that may be beyond the type though the result is not.
ON_THE_WAY: Mapping[str, Rule] = {
    "ReduceMean": REDUCED_SUM,
    "ReduceProd": _reduction(np.multiply.reduce, lambda x: np.where(x == 0, 1, np.abs(x))),
}
"""What has to fit as well: a sum before it is divided, a product before a zero comes."""

# Each operator's own way to move elements.
MOVES: Mapping[str, Rule] = {
    **{op: _moved(op) for op in ("Concat", "Expand", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")},
    "And": _typed(np.logical_and),
    "Cast": _cast,
    "Equal": _typed(np.equal),
    "Flatten": _flattened,
    "Gather": _taken,
    "Greater": _typed(np.greater),
    "GreaterOrEqual": _typed(np.greater_equal),
    "Less": _typed(np.less),
    "LessOrEqual": _typed(np.less_equal),
    "Not": _typed(np.logical_not),
    "Or": _typed(np.logical_or),
    "Sign": _typed(np.sign),
    "Slice": _sliced,
    "Tile": _tiled,
    "Where": _typed(np.where),
    "Xor": _typed(np.logical_xor),
}
"""Elements that are moved, converted, compared or chosen, in the types that they have."""
