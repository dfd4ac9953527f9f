"""Known elements through shape arithmetic: of a call's output, from (partly) known inputs."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx.numpy_helper
import onnx_ir as ir

from irfuzz.facts import MAX_KNOWN_ELEMENTS, Element, TensorFact
from irfuzz.ir.inference.shape_rules import Inputs, tensor

Elements: TypeAlias = tuple[Element, ...]
ValueRule: TypeAlias = Callable[[Mapping[str, Any], Inputs, TensorFact], "Elements | None"]
"""``(attributes, input facts, output fact without value) -> elements of output 0``, row-major."""

_INTEGERS = frozenset(
    d for d in ir.DataType if d.name in {"INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"}
)
_EXACT_FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE})


def _wrap(number: int, dtype: ir.DataType) -> int:
    info = np.iinfo(dtype.numpy())
    return (number - int(info.min)) % (int(info.max) - int(info.min) + 1) + int(info.min)


def _grid(fact: TensorFact | None) -> np.ndarray | None:
    """The elements as an object array in the tensor's shape, all unknown if nothing is known."""
    if fact is None:
        return None
    shape = fact.static_shape
    size = fact.size()
    if shape is None or size is None or size > MAX_KNOWN_ELEMENTS or any(d < 0 for d in shape):
        return None
    if size == 0 and math.prod(filter(None, shape)) > MAX_KNOWN_ELEMENTS:
        return None  # NumPy multiplies the other sizes
    grid = np.empty(shape, dtype=object)
    grid.ravel()[:] = fact.value if fact.value is not None else (None,) * size
    return grid


def _flat(grid: Any) -> Elements | None:
    # NumPy unwraps a single object element, so it is wrapped again.
    grid = np.asarray(grid, dtype=object)
    return None if grid.size > MAX_KNOWN_ELEMENTS else tuple(grid.ravel().tolist())


def _shape(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    data = tensor(inputs, 0)
    if data is None or data.shape is None:
        return None
    rank = len(data.shape)
    start, end = attrs.get("start", 0), attrs.get("end", rank)
    start = max(0, min(start + rank if start < 0 else start, rank))
    end = max(0, min(end + rank if end < 0 else end, rank))
    return data.shape[start:end]


def _size(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    data = tensor(inputs, 0)
    if data is None or data.shape is None:
        return None
    if data.is_static:
        return (data.size(),)
    left = [d for d in data.shape if not (type(d) is int and d == 1)]
    return (left[0],) if len(left) == 1 and isinstance(left[0], str) else None


def _same(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    data = tensor(inputs, 0)
    return None if data is None else data.value


def _cast(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    data = tensor(inputs, 0)
    if data is None or data.value is None:
        return None
    if out.dtype == data.dtype:
        return data.value
    if out.dtype in _INTEGERS and data.dtype in _INTEGERS:
        # A size may wrap in a narrow type, so that its name would not stand for it any more.
        wide = out.dtype.bitwidth >= 32
        return tuple(_wrap(e, out.dtype) if type(e) is int else (e if wide else None) for e in data.value)
    if not data.known:
        return None
    if out.dtype in _EXACT_FLOATS and data.dtype in _INTEGERS | _EXACT_FLOATS:
        # A double that overflows to float32 becomes infinite, as IEEE 754 and ONNX have it.
        with np.errstate(over="ignore"):
            return tuple(float(out.dtype.numpy().type(e)) for e in data.value)  # type: ignore[arg-type]
    if out.dtype in _INTEGERS and data.dtype in _EXACT_FLOATS:
        info = np.iinfo(out.dtype.numpy())
        numbers = [float(e) for e in data.value]  # type: ignore[arg-type]
        # Out of range is undefined in ONNX, so nothing is known of it.
        return tuple(int(e) for e in numbers) if all(info.min <= e <= info.max for e in numbers) else None
    return None


def _gather(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    data, indices = _grid(tensor(inputs, 0)), tensor(inputs, 1)
    axis = attrs.get("axis", 0)
    # ONNX judges the axis only where it knows both shapes.
    if data is None or indices is None or not indices.known or not -data.ndim <= axis < data.ndim:
        return None
    shape = indices.static_shape or ()
    positions = np.array(indices.value, dtype=np.int64).reshape(shape)
    if positions.size and (positions.min() < -data.shape[axis] or positions.max() >= data.shape[axis]):
        return None
    return _flat(np.take(data, positions, axis=axis))


def _slice(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    data = _grid(tensor(inputs, 0))
    if data is None or len(inputs) < 3:
        return None
    parts = [tensor(inputs, i) for i in range(1, len(inputs))]
    if any(inputs[i + 1] is not None and (p is None or not p.known) for i, p in enumerate(parts)):
        return None
    starts, ends = parts[0].value, parts[1].value  # type: ignore[union-attr]
    axes = parts[2].value if len(parts) > 2 and parts[2] is not None else range(len(starts))  # type: ignore[arg-type]
    steps = parts[3].value if len(parts) > 3 and parts[3] is not None else (1,) * len(starts)  # type: ignore[arg-type]
    index: list[slice] = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):  # type: ignore[arg-type]
        if not step:
            return None
        index[axis] = slice(start, end, step)  # type: ignore[call-overload,index]
    return _flat(data[tuple(index)])


def _concat(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    grids = [_grid(tensor(inputs, i)) for i in range(len(inputs))]
    axis = attrs.get("axis", 0)
    # ONNX judges the axis only where it knows all shapes.
    if any(g is None or not -g.ndim <= axis < g.ndim for g in grids):
        return None
    return _flat(np.concatenate(grids, axis=axis))  # type: ignore[arg-type]


def _arithmetic(
    number: Callable[[int, int], int | None], neutral: int | None, commutes: bool, self_cancels: int | None = None
) -> ValueRule:
    """Element-wise integer arithmetic with named sizes kept if the other operand is neutral."""

    def one(a: Element, b: Element, dtype: ir.DataType) -> Element:
        if type(a) is int and type(b) is int:
            result = number(a, b)
            return None if result is None else _wrap(result, dtype)
        if isinstance(a, str) and type(b) is int and b == neutral:
            return a
        if commutes and isinstance(b, str) and type(a) is int and a == neutral:
            return b
        if self_cancels is not None and isinstance(a, str) and a == b:
            return self_cancels
        return None

    def rule(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
        a, b = tensor(inputs, 0), tensor(inputs, 1)
        if a is None or b is None or a.value is None or b.value is None:
            return None
        if out.dtype in _EXACT_FLOATS:
            return _float_arithmetic(number, a, b, out)
        if out.dtype not in _INTEGERS:
            return None
        grids = _grid(a), _grid(b)
        if grids[0] is None or grids[1] is None:
            return None
        left, right = np.broadcast_arrays(grids[0], grids[1])
        if left.size > MAX_KNOWN_ELEMENTS:
            return None
        return tuple(one(x, y, out.dtype) for x, y in zip(left.ravel().tolist(), right.ravel().tolist(), strict=True))

    return rule


def _float_arithmetic(
    number: Callable[[int, int], int | None], a: TensorFact, b: TensorFact, out: TensorFact
) -> Elements | None:
    # IEEE 754 fixes the result of these operators to the last bit, so every runtime must agree.
    ufuncs: dict[Any, np.ufunc] = {
        operator.add: np.add,
        operator.sub: np.subtract,
        operator.mul: np.multiply,
        _divide: np.divide,
    }
    ufunc = ufuncs.get(number)
    if ufunc is None or not (a.known and b.known):
        return None
    kind = out.dtype.numpy()
    with np.errstate(all="ignore"):
        result = ufunc(
            np.array(a.value, kind).reshape(a.static_shape or ()), np.array(b.value, kind).reshape(b.static_shape or ())
        )
    return None if result.size > MAX_KNOWN_ELEMENTS else tuple(result.ravel().tolist())


def _divide(a: int, b: int) -> int | None:
    # ONNX leaves the rounding of negative quotients to the runtime's C division: towards zero.
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _modulo(a: int, b: int) -> int | None:
    return None if b == 0 else a % b


def _known(function: Callable[..., Any]) -> ValueRule:
    """Element-wise over fully known operands of any number."""

    def rule(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
        facts = [tensor(inputs, i) for i in range(len(inputs))]
        if any(f is None or f.value is None for f in facts):
            return None
        grids = np.broadcast_arrays(*(_grid(f) for f in facts))  # type: ignore[arg-type]
        if grids[0].size > MAX_KNOWN_ELEMENTS:
            return None
        columns = [g.ravel().tolist() for g in grids]
        return tuple(
            None if any(e is None or isinstance(e, str) for e in row) else function(*row)
            for row in zip(*columns, strict=True)
        )

    return rule


_floor_mod = _arithmetic(_modulo, None, commutes=False)


def _mod(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    return None if attrs.get("fmod", 0) else _floor_mod(attrs, inputs, out)


def _negate(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    if out.dtype not in _INTEGERS:
        return None
    negated = _known(operator.neg)(attrs, inputs, out)
    return None if negated is None else tuple(_wrap(e, out.dtype) if type(e) is int else e for e in negated)


def _where(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    grids = [_grid(tensor(inputs, i)) for i in range(3)]
    if any(g is None for g in grids):
        return None
    condition, a, b = np.broadcast_arrays(*grids)  # type: ignore[arg-type]
    if condition.size > MAX_KNOWN_ELEMENTS:
        return None
    rows = zip(condition.ravel().tolist(), a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return tuple((x if c else y) if c is not None else (x if x == y else None) for c, x, y in rows)


def _reduce_prod(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    data = tensor(inputs, 0)
    if data is None or data.value is None or data.rank != 1 or out.dtype not in _INTEGERS or out.size() != 1:
        return None
    names = [e for e in data.value if isinstance(e, str)]
    if None in data.value or len(names) > 1:
        return None
    total = 1
    for e in data.value:
        if not isinstance(e, str):
            total *= int(e)  # type: ignore[arg-type]
    if names:
        return (names[0],) if total == 1 else None
    return (_wrap(total, out.dtype),)


def _range(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    facts = [tensor(inputs, i) for i in range(3)]
    if any(f is None or not f.known for f in facts) or out.dtype not in _INTEGERS:
        return None
    start, limit, delta = (f.value[0] for f in facts)  # type: ignore[union-attr,index]
    if not delta:
        return None
    numbers = range(start, limit, delta)  # type: ignore[arg-type]
    few = not numbers[MAX_KNOWN_ELEMENTS:]  # it may be too long for ``len``
    return tuple(numbers) if few else None


def _expand(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    grid, shape = _grid(tensor(inputs, 0)), out.static_shape
    if grid is None or shape is None or (out.size() or 0) > MAX_KNOWN_ELEMENTS:
        return None
    return _flat(np.broadcast_to(grid, shape))


def _transpose(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    grid = _grid(tensor(inputs, 0))
    return None if grid is None else _flat(np.transpose(grid, attrs.get("perm")))


def _constant_of_shape(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    size = out.size()
    if size is None or size > MAX_KNOWN_ELEMENTS or out.dtype not in _INTEGERS | _EXACT_FLOATS | {ir.DataType.BOOL}:
        return None
    given = attrs.get("value")
    if given is None:
        return (0.0,) * size
    tensor = onnx.AttributeProto.FromString(given).t
    tensor.ClearField("segment")  # all of the tensor, which NumPy's reader refuses all the same
    element = onnx.numpy_helper.to_array(tensor)
    return tuple(element.ravel().tolist() * size)


def _tile(attrs: Mapping[str, Any], inputs: Inputs, out: TensorFact) -> Elements | None:
    grid, repeats = _grid(tensor(inputs, 0)), tensor(inputs, 1)
    if grid is None or repeats is None or not repeats.known or (out.size() or 0) > MAX_KNOWN_ELEMENTS:
        return None
    if out.size() == 0:
        return ()  # other sizes may be too many for NumPy
    return _flat(np.tile(grid, repeats.value))  # type: ignore[arg-type]


# Each operator's own arithmetic on elements; "shape_only" ones need no known input.
VALUE_RULES: Mapping[str, ValueRule] = {
    "Shape": _shape,
    "Size": _size,
    "Identity": _same,
    "Unsqueeze": _same,
    "Squeeze": _same,
    "Reshape": _same,
    "Flatten": _same,
    "Cast": _cast,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "Transpose": _transpose,
    "Expand": _expand,
    "ConstantOfShape": _constant_of_shape,
    "Tile": _tile,
    "Add": _arithmetic(operator.add, 0, commutes=True),
    "Sub": _arithmetic(operator.sub, 0, commutes=False, self_cancels=0),
    "Mul": _arithmetic(operator.mul, 1, commutes=True),
    "Div": _arithmetic(_divide, 1, commutes=False, self_cancels=None),
    "Mod": _mod,
    "Neg": _negate,
    "Equal": _known(operator.eq),
    "Greater": _known(operator.gt),
    "Less": _known(operator.lt),
    "GreaterOrEqual": _known(operator.ge),
    "LessOrEqual": _known(operator.le),
    "And": _known(lambda a, b: bool(a) and bool(b)),
    "Or": _known(lambda a, b: bool(a) or bool(b)),
    "Not": _known(operator.not_),
    "Where": _where,
    "ReduceProd": _reduce_prod,
    "Range": _range,
}
