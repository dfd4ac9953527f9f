"""Facts of sequences and optionals that ONNX's inference does not find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import onnx_ir as ir

from irfuzz.facts import Dim, Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.ir.fact_type_conversion import join

Inputs: TypeAlias = tuple[Fact | None, ...]
Rule: TypeAlias = Callable[[Mapping[str, Any], Inputs, Fact], Fact]
"""``(attributes, input facts, what ONNX's inference says) -> fact of output 0``."""


def _bare(fact: Fact) -> Fact:
    """The type and shape of an element: its values are not followed into a sequence."""
    return fact.without_value() if isinstance(fact, TensorFact) else fact


def _sequence(inputs: Inputs, index: int = 0) -> SequenceFact | None:
    fact = inputs[index] if index < len(inputs) else None
    return fact if isinstance(fact, SequenceFact) else None


def _construct(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    elems = [_bare(f) for f in inputs if f is not None]
    if not elems:
        return found
    elem = elems[0]
    for other in elems[1:]:
        elem = join(elem, other)
    return SequenceFact(elem, len(inputs)) if isinstance(elem, TensorFact) else found


def _empty(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    dtype = ir.DataType(attrs.get("dtype", ir.DataType.FLOAT))
    return SequenceFact(TensorFact(dtype, None), 0)


def _insert(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    sequence, new = _sequence(inputs), inputs[1] if len(inputs) > 1 else None
    if sequence is None or new is None or not isinstance(found, SequenceFact):
        return found
    length = None if sequence.length is None else sequence.length + 1
    elem = _bare(new) if sequence.length == 0 else join(sequence.elem, _bare(new))
    return SequenceFact(elem if isinstance(elem, TensorFact) else found.elem, length)


def _erase(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    sequence = _sequence(inputs)
    if sequence is None:
        return found
    return replace(sequence, length=sequence.length - 1 if sequence.length else None)


def _split(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    data, parts = inputs[0], inputs[1] if len(inputs) > 1 else None
    if not isinstance(data, TensorFact) or data.shape is None or not data.shape:
        return found
    axis = int(attrs.get("axis", 0)) % len(data.shape)
    size = data.shape[axis]
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    if parts is None:
        keeps = attrs.get("keepdims", 1)
        elem = TensorFact(data.dtype, (*before, *((1,) if keeps else ()), *after))
        return SequenceFact(elem, size if type(size) is int else None)
    part, count = _parts(parts, size)
    return SequenceFact(TensorFact(data.dtype, (*before, part, *after)), count)


def _parts(parts: Fact, size: Dim) -> tuple[int | None, int | None]:
    """The size that all parts have, and how many there are; a scalar is the size of all but perhaps the last one."""
    if not isinstance(parts, TensorFact) or not parts.known or not parts.value:
        return None, None
    given = [int(e) for e in parts.value if e is not None]
    if parts.shape != ():
        return given[0] if len(set(given)) == 1 else None, len(given)
    if type(size) is not int or given[0] <= 0 or size == 0:
        return None, None
    whole, rest = divmod(size, given[0])
    return given[0] if not rest else rest if not whole else None, whole + bool(rest)


def _at(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    sequence = _sequence(inputs)
    return found if sequence is None or sequence.elem is None else _bare(sequence.elem)


def _length(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    sequence = _sequence(inputs)
    if sequence is None or sequence.length is None:
        return TensorFact(ir.DataType.INT64, (), 0.0)
    length = sequence.length
    return TensorFact(ir.DataType.INT64, (), float(length), float(length), (length,))


def _concat(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    sequence = _sequence(inputs)
    elem = None if sequence is None else sequence.elem
    if sequence is None or not isinstance(elem, TensorFact) or elem.shape is None or "axis" not in attrs:
        return found
    length, axis = sequence.length, int(attrs["axis"])
    if attrs.get("new_axis", 0):
        axis %= len(elem.shape) + 1
        return TensorFact(elem.dtype, (*elem.shape[:axis], length, *elem.shape[axis:]))
    if not elem.shape:
        return found
    axis %= len(elem.shape)
    size = elem.shape[axis]
    total: Dim = length * size if type(size) is int and length is not None else size if length == 1 else None
    return TensorFact(elem.dtype, (*elem.shape[:axis], total, *elem.shape[axis + 1 :]))


def _optional(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    if not inputs or inputs[0] is None:
        return found
    return OptionalFact(_bare(inputs[0]))


def _get(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    given = inputs[0] if inputs else None
    if isinstance(given, OptionalFact):
        return found if given.elem is None else given.elem
    return found if given is None else given


def _has(attrs: Mapping[str, Any], inputs: Inputs, found: Fact) -> Fact:
    given = inputs[0] if inputs else None
    if given is None or isinstance(given, TensorFact | SequenceFact):
        # OptionalHasElement-18: an input that is no optional has an element, an omitted one has none.
        value = given is not None
        return TensorFact(ir.DataType.BOOL, (), float(value), float(value), (value,))
    return TensorFact(ir.DataType.BOOL, ())


# What each operator on sequences and optionals does; ONNX has no others.
SEQUENCE_RULES: Mapping[str, Rule] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SplitToSequence": _split,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "ConcatFromSequence": _concat,
    "Optional": _optional,
    "OptionalGetElement": _get,
    "OptionalHasElement": _has,
}
