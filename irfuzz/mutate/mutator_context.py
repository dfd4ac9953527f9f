"""What every mutator may look at besides the program: specs, novelty and donors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from irfuzz.choices import Choices
from irfuzz.mutate.feature_counts import Feature, attribute_bucket
from irfuzz.mutate.mutator_protocol import Donors

if TYPE_CHECKING:
    from irfuzz.spec import Specs

T = TypeVar("T")


class Novelty(Protocol):
    """Anything that knows what draws are worth, by the features that they show."""

    def weight(self, feature: Feature) -> float:
        """How much a draw that shows a feature is worth; above 0, and less the more often it was seen.

        Mutators weigh what they draw by it; ``insert-pattern`` takes more than 1 as a sign that a pattern is aimed at.
        """
        ...


class CoverageGaps(Protocol):
    """Anything that knows what no program has covered yet (``irfuzz.search.coverage.uncovered_operator_calls``)."""

    def call(self, op: str) -> float:
        """How much a call of an operator is worth on its own; never 0, so that every operator may be drawn.

        Args:
            op: its name, with the domain in front unless that is the default one.
        """
        ...

    def pair(self, producer: str, consumer: str) -> float:
        """How much it is worth that one operator reads what another gives; 0 if that is covered.

        Args:
            producer: name of the operator that computes the value, ``<input>`` for an input of the graph.
            consumer: name of the operator that reads it.
        """
        ...

    def pairs(self, producer: str, consumers: Sequence[str]) -> list[float] | None:
        """What ``pair`` says of one producer with each of several consumers, in their order; ``None`` if that is 0 of
        all.
        """
        ...

    def dtype(self, op: str, dtype: str) -> float:
        """How much it is worth that an operator's first input has an element type; 0 if that is covered.

        Args:
            op: name of the operator.
            dtype: ONNX's name of the type, such as ``FLOAT16``.
        """
        ...

    def failed(self, producer: str, consumer: str) -> None:
        """Tell that no call of ``consumer`` was found that reads what ``producer`` gives: the pair is worth less from
        now on.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Drawn:
    """``Novelty`` for draws of ``sample_call``, which names attribute values and type variables as they are."""

    seen: Novelty

    def weight(self, feature: tuple[Any, ...]) -> float:
        """The weight of the feature under which programs show what was drawn."""
        kind, op, name, item = feature
        if kind == "attr":
            return self.seen.weight(("attr", op, name, attribute_bucket(item)))
        return self.seen.weight(("dtype", op, 0, item.value))


@dataclass(frozen=True, slots=True)
class Context:
    """Shared by the mutators of one engine; it may steer which choice is drawn, never what a drawn choice means.

    Attributes:
        specs: operator specs.
        seen: weighs down what was seen before; ``None`` makes all choices equally likely.
        donors: programs from which ``splice`` takes parts; ``None`` if there are none.
        max_opset: conversion goes no further than this version of the default domain.
        wanted: what is not covered yet, for mutators that aim at it; ``None`` if nobody keeps count.
    """

    specs: Specs
    seen: Novelty | None = None
    donors: Donors | None = None
    max_opset: int = 21
    wanted: CoverageGaps | None = None

    @property
    def drawn(self) -> _Drawn | None:
        """What ``sample_call`` takes as ``seen``: ``seen`` under the names that draws have, or ``None`` if nothing is
        counted.
        """
        return None if self.seen is None else _Drawn(self.seen)

    def prefer(self, choices: Choices, items: Sequence[T], feature: Callable[[T], Feature]) -> T:
        """One of ``items``, each with the weight of its feature; the record holds its index.

        Args:
            choices: make the draw and record it.
            items: at least one; the order decides what a recorded index means.
            feature: under which an item is looked up in ``seen``; without that all items are equally likely.
        """
        seen = self.seen
        if seen is None:
            return choices.pick(items)
        return choices.weighted(items, [seen.weight(feature(item)) for item in items])
