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
        """How much a draw that shows a feature is worth; above 0, and less the more often it was seen."""
        ...


class CoverageGaps(Protocol):
    """Anything that knows what no program has covered yet (``irfuzz.search.coverage.uncovered_calls``)."""

    def call(self, op: str) -> float:
        """How much a call of an operator is worth on its own; never 0."""
        ...

    def pair(self, producer: str, consumer: str) -> float:
        """How much it is worth that one operator reads what another gives; 0 if that is covered."""
        ...

    def pairs(self, producer: str, consumers: Sequence[str]) -> list[float] | None:
        """What ``pair`` says of each; ``None`` if that is 0 of all."""
        ...

    def dtype(self, op: str, dtype: str) -> float:
        """How much it is worth that an operator's first input has an element type; 0 if that is covered."""
        ...

    def failed(self, producer: str, consumer: str) -> None:
        """No call was found: it is worth less from now on."""
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
        """What ``sample_call`` takes as ``seen``."""
        return None if self.seen is None else _Drawn(self.seen)

    def prefer(self, choices: Choices, items: Sequence[T], feature: Callable[[T], Feature]) -> T:
        """One of ``items``, each with the weight of its feature; the record holds its index."""
        seen = self.seen
        if seen is None:
            return choices.pick(items)
        return choices.weighted(items, [seen.weight(feature(item)) for item in items])
