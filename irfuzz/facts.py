"""What is known of a value before anything runs: type, shape, range and known elements."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import onnx_ir as ir

Dim: TypeAlias = int | str | None
"""A size: known, named (equal names are equal sizes within one program), or unknown."""

Element: TypeAlias = int | float | bool | str | None
"""A known element: a number, the name of a dimension (integer tensors only), or unknown."""

MAX_KNOWN_ELEMENTS = 64
"""Largest tensor whose elements a fact spells out; longer constants are read from the program."""


@dataclass(frozen=True, slots=True)
class TensorFact:
    """A dense tensor.

    Attributes:
        dtype: element type.
        shape: sizes, outermost first; ``None`` if even the rank is unknown.
        low: every element that is not NaN is at least this (``None``: nothing known).
        high: every element that is not NaN is at most this.
        value: the elements in row-major order if at least one is known and the shape is static
            with at most ``MAX_KNOWN_ELEMENTS`` elements.
    """

    dtype: ir.DataType
    shape: tuple[Dim, ...] | None
    low: float | None = None
    high: float | None = None
    value: tuple[Element, ...] | None = None

    @property
    def rank(self) -> int | None:
        """Number of dimensions, 0 for a scalar; ``None`` if it is not known."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """True if every size is an integer; false if one is named or unknown, or even the rank is."""
        if self.shape is None:
            return False
        for size in self.shape:  # noqa: SIM110 - asked a hundred times an edit, and a generator takes twice as long
            if type(size) is not int:
                return False
        return True

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        """The shape if every size is an integer, else ``None``."""
        return self.shape if self.is_static else None  # type: ignore[return-value]

    def size(self) -> int | None:
        """Number of elements, if the shape is static; else ``None``. It is 1 for a scalar."""
        shape = self.static_shape
        return None if shape is None else math.prod(shape)

    @property
    def known(self) -> bool:
        """True if every element is a known number: none is unknown or the name of a dimension."""
        if self.value is None:
            return False
        for element in self.value:  # noqa: SIM110 - as above
            if element is None or type(element) is str:
                return False
        return True

    def without_value(self) -> TensorFact:
        """The same type and shape with nothing said of its elements: neither values nor range.

        This fact is not changed.
        """
        return replace(self, low=None, high=None, value=None)


@dataclass(frozen=True, slots=True)
class SequenceFact:
    """A sequence whose elements all satisfy ``elem`` (``None``: nothing known).

    Attributes:
        length: number of elements, if it is known.
    """

    elem: Fact | None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class OptionalFact:
    """An optional whose content, if any, satisfies ``elem``."""

    elem: Fact | None


MAP = "map_type"
"""What is not looked into of an ``OpaqueFact`` that is a map: ONNX's name of the type."""


@dataclass(frozen=True, slots=True)
class OpaqueFact:
    """A value that irfuzz carries but does not look into (maps, sparse tensors, unknown types)."""

    why: str


Fact: TypeAlias = TensorFact | SequenceFact | OptionalFact | OpaqueFact


def tensors_in(fact: Fact | None) -> TensorFact | None:
    """What holds for every dense tensor in a value: the fact itself, or that of a sequence's or optional's content.

    ``None`` for other values (maps, sparse tensors), if the content is unknown, and for ``None``.
    """
    while isinstance(fact, SequenceFact | OptionalFact):
        fact = fact.elem
    return fact if isinstance(fact, TensorFact) else None
