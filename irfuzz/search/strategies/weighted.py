"""``weighted``: fixed weights of mutators, and parents that brought much, are small and were seldom used."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from irfuzz.choices import Choices
from irfuzz.search.strategies.strategy_protocol import MutationOutcome, P, Parent

CANDIDATES = 32
"""Of so many programs, drawn evenly, one is chosen by weight: weighing all takes longer with each that comes."""

FAVOURED = 5.0
"""A favoured parent weighs so much more than another (AFL++, ``compute_weight``)."""


class Weighted:
    """Novelty and cost steer the parents, nothing the mutators."""

    name: ClassVar[str] = "weighted"
    mutators: ClassVar[tuple[str, ...] | None] = None
    sprouts: ClassVar[bool] = True
    culls: ClassVar[bool] = True

    def __init__(self, mutators: Sequence[str]) -> None:  # the protocol's
        """Nothing is kept."""

    def choose(self, parents: Sequence[P], choices: Choices) -> P:
        """One of a few parents (``candidates``), by weights that are their ``energy``. ``picked`` of the chosen one
        grows by one.
        """
        among = candidates(parents, choices)
        parent = choices.weighted(among, [energy(p) for p in among])
        parent.picked += 1
        return parent

    def plan(self, parent: Parent, choices: Choices, most: int) -> tuple[str | None, ...]:  # noqa: ARG002 - the protocol's
        """Between 1 and ``most`` edits, evenly drawn, all of which are ``None``: the engine draws their mutators by its
        weights.
        """
        return (None,) * choices.integer(1, most)

    def learn(self, parent: Parent, plan: Sequence[str | None], outcome: MutationOutcome) -> None:
        """Do nothing: this search steers by what parents tell of themselves."""

    def ran(self, parent: Parent, applied: Sequence[str], branches: int) -> None:
        """Do nothing: what code a mutant runs has no part in this search."""

    def keeps(self, outcome: MutationOutcome, bar: int) -> bool:
        """Whether a mutant shows enough: at least ``bar`` features of what mutation counts, new or cheaper."""
        return outcome.features >= bar

    def state(self) -> Mapping[str, Any]:
        """An empty dictionary, for nothing is learnt; what steers stands in the parents themselves."""
        return {}

    def recall(self, state: Mapping[str, Any]) -> None:
        """Do nothing: ``state`` is empty, and whatever it holds is not read."""


def candidates(parents: Sequence[P], choices: Choices) -> Sequence[P]:
    """Some of many parents, drawn evenly, or all of a few.

    Args:
        parents: all that there are.
        choices: seed the draw; they are not asked if all are taken.

    Returns:
        ``parents`` itself if they are at most ``CANDIDATES``; else a list of so many, in which one may stand twice.
    """
    if len(parents) <= CANDIDATES:
        return parents
    draw = random.Random(choices.seed())  # noqa: S311 - reproducibility is wanted, not secrecy
    return draw.choices(parents, k=CANDIDATES)


def energy(parent: Parent) -> float:
    """Weight of a parent: little-used programs that hold much, and small ones, which cost little, come first.

    It is (1 + features) / ((1 + picked) * (1 + nodes / 30)), of which features count up to 50, and ``FAVOURED`` times
    as much of a favoured one; never 0.
    """
    worth = (1.0 + min(parent.features, 50)) / ((1.0 + parent.picked) * (1.0 + parent.nodes / 30.0))
    return FAVOURED * worth if parent.favoured else worth
