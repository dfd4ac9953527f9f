"""The output types that ONNX would infer for calls of common operators with static shapes, without asking it.

Most nodes that adapt a value are of these few operators, and ``onnx.shape_inference`` takes 0.1 ms a call. Whatever is
not plain (a named size, an unknown element, sizes that do not fit) gets no answer here, and ONNX itself is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx_ir as ir
from onnx import defs

from irfuzz.facts import TensorFact
from irfuzz.ir.inference import shape_rules
from irfuzz.ir.inference.shape_rules import Shape, broadcast
from irfuzz.spec import with_trait

if TYPE_CHECKING:
    from irfuzz.ir.inference.call_output_types import CallKey

Inputs: TypeAlias = tuple[TensorFact, ...]
Rule: TypeAlias = Callable[[Mapping[str, Any], Inputs, int], "Shape | None"]
"""``(attributes, static inputs, opset) -> shape of the output``, ``None`` where the call is not a plain one."""

_INT64 = ir.DataType.INT64


def direct_outputs(call: CallKey, schema: defs.OpSchema) -> tuple[TensorFact, ...] | None:
    """Type and shape of the only output of a plain call; ``None`` if ONNX has to be asked.

    Args:
        call: plain if all inputs are tensors of static shape and of types that the schema has, all attributes are
            known, and a rule here has its operator.
        schema: of the operator at the call's opset.
    """
    rule = _RULES.get(call.op)
    if rule is None or call.domain or call.outputs != (True,):
        return None
    inputs = call.inputs
    for fact in inputs:
        if type(fact) is not TensorFact or not fact.is_static:
            return None
    names, kinds, least, most = _accepts(call.op, schema.since_version)
    if not least <= len(inputs) <= most:
        return None
    for fact, allowed in zip(inputs, kinds, strict=False):
        if fact.dtype not in allowed:  # type: ignore[union-attr]
            return None
    attrs = {name: value for name, _, value in call.attrs}
    if not names.issuperset(attrs):
        return None
    shape = rule(attrs, inputs, call.opset)  # type: ignore[arg-type]
    if shape is None or any(type(d) is not int or d < 0 for d in shape):
        return None
    dtype = inputs[0].dtype if call.op not in with_trait("casts") else ir.DataType(attrs["to"])  # type: ignore[union-attr]
    return (TensorFact(dtype, shape),)


@lru_cache(maxsize=1024)
def _accepts(op: str, since: int) -> tuple[frozenset[str], tuple[frozenset[ir.DataType], ...], int, int]:
    """Names of attributes, element types of each input, least and most inputs."""
    schema = defs.get_schema(op, since, "")
    kinds = tuple(frozenset(_BY_NAME[t] for t in slot.types if t in _BY_NAME) for slot in schema.inputs)
    return frozenset(schema.attributes), kinds, schema.min_input, min(schema.max_input, len(kinds))


_BY_NAME = {f"tensor({d.name.lower()})": d for d in ir.DataType}
_NUMBERS = frozenset(
    d
    for d in ir.DataType
    if d.name in {"FLOAT", "DOUBLE", "FLOAT16", "INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL"}
)

_NUMBERED = frozenset(d.value for d in _NUMBERS)


def _whole(fact: TensorFact) -> tuple[int, ...] | None:
    """The elements of a list of integers."""
    value = fact.value
    if fact.dtype is not _INT64 or value is None or len(fact.shape or ()) != 1:
        return None
    return value if all(type(e) is int for e in value) else None  # type: ignore[return-value]


def _same(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    return inputs[0].shape


def _cast(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    to = attrs.get("to")
    return inputs[0].shape if set(attrs) == {"to"} and to in _NUMBERED and inputs[0].dtype in _NUMBERS else None


def _broadcast(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    a, b = inputs
    return broadcast([a.shape, b.shape]) if a.dtype is b.dtype and not attrs and opset >= 7 else None


def _clip(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    plain = opset >= 11 and all(f.dtype is inputs[0].dtype and not f.shape for f in inputs[1:])
    return inputs[0].shape if plain else None


def _transpose(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    shape: Shape = inputs[0].shape or ()
    order: tuple[int, ...] | None = attrs.get("perm")
    if order is None or sorted(order) != list(range(len(shape))):
        return None
    return tuple(shape[axis] for axis in order)


def _reshape(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    wanted = _whole(inputs[1]) if opset >= 5 and len(inputs) == 2 else None
    if wanted is None or attrs or min(wanted, default=0) < -1 or wanted.count(-1) > 1:
        return None
    shape = shape_rules.reshape(attrs, inputs, opset)
    size = inputs[0].size()
    fits = shape is not None and None not in shape and size and math.prod(shape) == size  # type: ignore[arg-type]
    return shape if fits else None


def _expand(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    wanted = _whole(inputs[1])
    return None if wanted is None or min(wanted, default=0) < 1 else broadcast([inputs[0].shape, wanted])


def _tile(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    repeats = _whole(inputs[1]) if opset >= 6 else None
    if repeats is None or len(repeats) != len(inputs[0].shape or ()) or min(repeats, default=0) < 0:
        return None
    return shape_rules.tile(attrs, inputs, opset)


def _pad(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    pads = _whole(inputs[1]) if opset >= 11 and len(inputs) in (2, 3) else None
    if pads is None or len(pads) != 2 * len(inputs[0].shape or ()) or set(attrs) - {"mode"}:
        return None
    if len(inputs) == 3 and (inputs[2].dtype is not inputs[0].dtype or inputs[2].shape):
        return None
    return shape_rules.pad(attrs, inputs, opset)


def _slice(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    lists = [_whole(fact) for fact in inputs[1:]] if opset >= 10 and len(inputs) in (4, 5) else [None]
    rank = len(inputs[0].shape or ())
    if None in lists:
        return None
    starts, ends, axes, *steps = lists
    assert starts is not None
    assert ends is not None
    assert axes is not None
    plain = len(starts) == len(ends) == len(axes) == len(set(axes)) and all(0 <= a < rank for a in axes)
    plain = plain and all(s is not None and len(s) == len(axes) and 0 not in s for s in steps)
    return shape_rules.slice_(attrs, inputs, opset) if plain else None


def _unsqueeze(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    axes = _whole(inputs[1]) if opset >= 13 and len(inputs) == 2 else None
    rank = len(inputs[0].shape or ()) + len(axes or ())
    if axes is None or len(set(axes)) != len(axes) or not all(0 <= a < rank for a in axes):
        return None
    rest = iter(inputs[0].shape or ())
    return tuple(1 if axis in axes else next(rest) for axis in range(rank))


def _squeeze(attrs: Mapping[str, Any], inputs: Inputs, opset: int) -> Shape | None:
    axes = _whole(inputs[1]) if opset >= 13 and len(inputs) == 2 else None
    shape = inputs[0].shape or ()
    if axes is None or not all(0 <= a < len(shape) and shape[a] == 1 for a in axes):
        return None
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


_ELEMENTWISE = ("Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Exp", "Sqrt", "Floor", "Ceil", "Erf", "Identity")

# A second reading of each operator's shape, without ONNX's inference and equal to it.
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _same),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _broadcast),
    "Cast": _cast,
    "Clip": _clip,
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
    "Slice": _slice,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
}
