"""``weighted``: fixed weights of mutators, and parents that brought much, are small and were seldom used."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from irfuzz.choices import Choices
from irfuzz.search.strategies.strategy_protocol import MutationOutcome, P, Parent

CANDIDATES = 32
"""Of so many programs, drawn evenly, one is chosen by weight: weighing all takes longer with each that comes."""


class Weighted:
    """Novelty and cost steer the parents, nothing the mutators."""

    name: ClassVar[str] = "weighted"
    mutators: ClassVar[tuple[str, ...] | None] = None
    sprouts: ClassVar[bool] = True

    def __init__(self, mutators: Sequence[str]) -> None:  # the protocol's
        """Nothing is kept."""

    def choose(self, parents: Sequence[P], choices: Choices) -> P:
        """One of a few candidates by energy."""
        among = candidates(parents, choices)
        parent = choices.weighted(among, [energy(p) for p in among])
        parent.picked += 1
        return parent

    def plan(self, parent: Parent, choices: Choices, most: int) -> tuple[str | None, ...]:  # noqa: ARG002 - the protocol's
        """Some edits, all by weight."""
        return (None,) * choices.integer(1, most)

    def learn(self, parent: Parent, plan: Sequence[str | None], outcome: MutationOutcome) -> None:
        """Nothing."""

    def ran(self, parent: Parent, applied: Sequence[str], branches: int) -> None:
        """Nothing."""

    def keeps(self, outcome: MutationOutcome, bar: int) -> bool:
        """If it shows enough that is new."""
        return outcome.features >= bar

    def state(self) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    def recall(self, state: Mapping[str, Any]) -> None:
        """Nothing."""


def candidates(parents: Sequence[P], choices: Choices) -> Sequence[P]:
    """Some of many parents, drawn evenly, or all of a few."""
    if len(parents) <= CANDIDATES:
        return parents
    draw = random.Random(choices.seed())  # noqa: S311 - reproducibility is wanted, not secrecy
    return draw.choices(parents, k=CANDIDATES)


def energy(parent: Parent) -> float:
    """Little-used programs that brought much, and small ones, which cost little, come first."""
    return (1.0 + min(parent.features, 50)) / ((1.0 + parent.picked) * (1.0 + parent.nodes / 30.0))
