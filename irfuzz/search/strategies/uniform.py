"""``random``: the baseline; COMET's operators, pool and numbers of layers, every operator equally likely (COMETr)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from irfuzz.choices import Choices
from irfuzz.mutate.paper_mutator_lookup import group
from irfuzz.search.strategies.mcmc import FORBIDDEN, planned, score
from irfuzz.search.strategies.parent_pool import ParentPool
from irfuzz.search.strategies.strategy_protocol import MutationOutcome, P, Parent


class Uniform:
    """What COMET compares its search with (section 4.5): nothing is learnt."""

    name: ClassVar[str] = "random"
    mutators: ClassVar[tuple[str, ...] | None] = (*group("comet"), FORBIDDEN)
    sprouts: ClassVar[bool] = False
    culls: ClassVar[bool] = False

    def __init__(self, mutators: Sequence[str]) -> None:
        self._mutators = tuple(mutators)
        self._operators = tuple(name for name in mutators if name != FORBIDDEN) or self._mutators
        self._pool = ParentPool()

    def choose(self, parents: Sequence[P], choices: Choices) -> P:
        """A random member of the pool, all equally likely; the pool takes up what was added to ``parents`` since the
        last call.
        """
        return self._pool.pick(parents, choices)

    def plan(self, parent: Parent, choices: Choices, most: int) -> tuple[str | None, ...]:  # noqa: ARG002 - the protocol's
        """Any operator, all equally likely, on one to ten layers; ``most`` is not read. Instead of
        ``change-attribute``, one value that is forbidden is planned now and then (``mcmc.planned``).
        """
        return planned(choices.pick(self._operators), choices, self._mutators)

    def learn(self, parent: Parent, plan: Sequence[str | None], outcome: MutationOutcome) -> None:  # noqa: ARG002 - the protocol's
        """Learn nothing, but take note if no edit stands: the parent then gives its place in the pool to a random
        seed.
        """
        if not outcome.applied:
            self._pool.spent()

    def ran(self, parent: Parent, applied: Sequence[str], branches: int) -> None:
        """Do nothing: what code a mutant runs has no part in this search."""

    def keeps(self, outcome: MutationOutcome, bar: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether a mutant shows something new: whether ``mcmc.score`` of it is above 0. ``bar`` is not read."""
        return score(outcome) > 0

    def state(self) -> Mapping[str, Any]:
        """The pool, as JSON-able data under ``pool``: nothing else is ever learnt."""
        return {"pool": self._pool.state()}

    def recall(self, state: Mapping[str, Any]) -> None:
        """Go on with the pool that ``state`` gave; parents must be in the order in which they were."""
        self._pool.recall(state["pool"])
