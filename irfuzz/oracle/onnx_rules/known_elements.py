"""What is known of a tensor element by element, and what a rule gets of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np


@dataclass(frozen=True, slots=True)
class OpenElements:
    """What open elements may be: a number between two, or if so said NaN. All three have the shape of the tensor.

    Attributes:
        low: the least number, as float64; NaN if nothing is known.
        high: the largest.
        nan: where it may be NaN.
    """

    low: np.ndarray
    high: np.ndarray
    nan: np.ndarray


@dataclass(frozen=True, slots=True)
class Elements:
    """A tensor of which some elements are decided.

    Attributes:
        values: floats of every type as float64, others in their own; of open elements they mean nothing.
        decided: where they are the only right ones (bool, of the same shape).
        choice: what some of the open ones may be, if that is known; whoever reads them knows nothing of them.
    """

    values: np.ndarray
    decided: np.ndarray
    choice: OpenElements | None = None

    @classmethod
    def whole(cls, values: Any, decided: Any = True) -> Elements:
        """Elements that are decided, all of them or as ``decided`` says, which is broadcast.

        Args:
            values: anything that ``np.asarray`` takes; an array is not copied.
            decided: one truth value, or one for each element.
        """
        array = np.asarray(values)
        return cls(array, np.array(np.broadcast_to(decided, array.shape)))

    @classmethod
    def or_nan(cls, values: Any, decided: Any, either: Any) -> Elements:
        """The same; if ``either`` says so an open one is NaN or its value, as whoever computes it likes.

        Args:
            values: as for ``whole``.
            decided: the elements that have one right value.
            either: the open ones of which two values are right; what is decided stays decided.
        """
        found = cls.whole(values, decided)
        either = np.broadcast_to(either, found.values.shape) & ~found.decided
        limit = np.where(either, found.values.astype(np.float64), np.nan)
        return cls(found.values, found.decided, OpenElements(limit, limit, either))

    @property
    def known(self) -> bool:
        """Whether all elements are decided."""
        return bool(self.decided.all())

    @property
    def of_floats(self) -> bool:
        """Whether they are floating-point numbers."""
        return self.values.dtype.kind == "f"


@dataclass(frozen=True, slots=True)
class RuleCall:
    """A call of an operator.

    Attributes:
        op: the operator.
        attrs: those that are given.
        version: of the opset.
        dtypes: of its outputs; ``None`` if not known.
    """

    op: str
    attrs: Mapping[str, Any]
    version: int
    dtypes: tuple[np.dtype | None, ...]

    def text(self, name: str, default: str) -> str:
        """A text among the attributes, or ``default`` if it is left out; bytes, as ONNX stores them, are decoded."""
        value = self.attrs.get(name, default)
        return value.decode() if isinstance(value, bytes) else str(value)


Given: TypeAlias = "Sequence[Elements | None]"
Rule: TypeAlias = "Callable[[RuleCall, Given], Elements | Sequence[Elements | None] | None]"
"""From a call and its inputs (``None`` for one that is left out) to its outputs, or its first one alone; ``None`` if
the rule does not know the call. All inputs are there, though perhaps open."""


def need(elements: Elements | None) -> Elements:
    """An input that a call must have.

    Raises:
        ValueError: it is left out.
    """
    if elements is None:
        raise ValueError("an input is left out")
    return elements


def known(elements: Elements | None) -> np.ndarray:
    """The values of an input of which all elements are decided.

    Raises:
        ValueError: it is left out, or open.
    """
    if elements is None or not elements.known:
        raise ValueError("an input is not known")
    return elements.values


def nan_in(values: np.ndarray) -> np.ndarray:
    """Which elements are NaN: booleans of the same shape, all false for types other than floats."""
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
