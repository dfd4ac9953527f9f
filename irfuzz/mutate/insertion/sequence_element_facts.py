"""A sequence as the list of its elements' facts: what each operator on sequences makes of such a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.fact_type_conversion import join

Elements: TypeAlias = tuple[TensorFact, ...]
"""Type and shape of each element. A sequence's fact holds only what they have in common."""

Shape: TypeAlias = tuple[Dim, ...]


def together(elements: Elements) -> TensorFact:
    """What is known of all elements, of which there is at least one: a size that differs among them is unknown, and so
    is the rank if that differs.
    """
    elem = elements[0]
    for other in elements[1:]:
        joined = join(elem, other)
        assert isinstance(joined, TensorFact)
        elem = joined
    return elem


def split(fact: TensorFact, axis: int, sizes: Sequence[int] | None, *, keepdims: bool) -> Elements:
    """The parts of a tensor along an axis, as SplitToSequence gives them.

    Args:
        fact: of the tensor; its size along the axis is a number.
        axis: it may be negative.
        sizes: of the parts; ``None``: each has size 1.
        keepdims: false drops the axis, which counts only without ``sizes``.
    """
    shape = fact.shape or ()
    axis %= len(shape)
    whole = shape[axis]
    assert isinstance(whole, int)
    before, after = shape[:axis], shape[axis + 1 :]
    if sizes is None:
        part = (*before, *((1,) if keepdims else ()), *after)
        return (TensorFact(fact.dtype, part),) * whole
    return tuple(TensorFact(fact.dtype, (*before, size, *after)) for size in sizes)


def equal_parts(whole: int, part: int) -> list[int]:
    """Sizes of the parts if all but perhaps the last one have the same: ``equal_parts(7, 3)`` is ``[3, 3, 1]``."""
    count, rest = divmod(whole, part)
    return [part] * count + ([rest] if rest else [])


def put(elements: Elements, new: TensorFact, position: int | None) -> Elements:
    """A new list with another element before a position, which may be negative, or at the end for ``None``, as
    SequenceInsert does it.
    """
    at = len(elements) if position is None else position + (len(elements) if position < 0 else 0)
    return (*elements[:at], new, *elements[at:])


def drop(elements: Elements, position: int | None) -> Elements:
    """A new list without the element at a position, which may be negative, or without the last one for ``None``, as
    SequenceErase does it.
    """
    at = (len(elements) - 1 if position is None else position) % len(elements)
    return (*elements[:at], *elements[at + 1 :])


def concatenated(elements: Elements, axis: int) -> TensorFact | None:
    """The fact of the elements joined along an axis from 0 on; ``None`` if ranks or other sizes differ, if a size is
    unknown, or if one along the axis is a name.
    """
    first = elements[0]
    if not first.shape:
        return None
    total = 0
    for element in elements:
        shape = element.shape
        if shape is None or len(shape) != len(first.shape):
            return None
        if shape[:axis] + shape[axis + 1 :] != first.shape[:axis] + first.shape[axis + 1 :] or None in shape:
            return None
        size = shape[axis]
        if not isinstance(size, int):
            return None
        total += size
    return TensorFact(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :]))


def stacked(elements: Elements, axis: int) -> TensorFact | None:
    """The fact of the elements stacked along a new axis, at this place in the result; ``None`` if their shapes are not
    known to be equal.
    """
    shape = elements[0].shape
    if shape is None or None in shape or any(e.shape != shape for e in elements):
        return None
    return TensorFact(elements[0].dtype, (*shape[:axis], len(elements), *shape[axis:]))
