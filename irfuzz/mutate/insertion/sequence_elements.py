"""A sequence as the list of its elements' facts: what each operator on sequences makes of such a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.type_conversion import join

Elements: TypeAlias = tuple[TensorFact, ...]
"""Type and shape of each element. A sequence's fact holds only what they have in common."""

Shape: TypeAlias = tuple[Dim, ...]


def together(elements: Elements) -> TensorFact:
    """What is known of all elements, of which there is at least one."""
    elem = elements[0]
    for other in elements[1:]:
        joined = join(elem, other)
        assert isinstance(joined, TensorFact)
        elem = joined
    return elem


def split(fact: TensorFact, axis: int, sizes: Sequence[int] | None, *, keepdims: bool) -> Elements:
    """The parts of a tensor along an axis: of ``sizes``, else of size 1, which only then may be dropped."""
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
    """Sizes of the parts if all but perhaps the last one have the same."""
    count, rest = divmod(whole, part)
    return [part] * count + ([rest] if rest else [])


def put(elements: Elements, new: TensorFact, position: int | None) -> Elements:
    """With another element before a position, or at the end."""
    at = len(elements) if position is None else position + (len(elements) if position < 0 else 0)
    return (*elements[:at], new, *elements[at:])


def drop(elements: Elements, position: int | None) -> Elements:
    """Without the element at a position, or the last one."""
    at = (len(elements) - 1 if position is None else position) % len(elements)
    return (*elements[:at], *elements[at + 1 :])


def concatenated(elements: Elements, axis: int) -> TensorFact | None:
    """The elements along an axis; ``None`` if that is not known to be possible."""
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
    """The elements along a new axis; ``None`` if that is not known to be possible."""
    shape = elements[0].shape
    if shape is None or None in shape or any(e.shape != shape for e in elements):
        return None
    return TensorFact(elements[0].dtype, (*shape[:axis], len(elements), *shape[axis:]))
