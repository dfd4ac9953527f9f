"""``mcmc``: COMET's search (TOSEM 2023, section 3.5, algorithm 2), as published but for its pool (``pool``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from irfuzz.choices import Choices
from irfuzz.mutate.paper_mutator_lookup import group
from irfuzz.search.strategies.parent_pool import ParentPool
from irfuzz.search.strategies.strategy_protocol import MutationOutcome, P, Parent

SUCCESS = 0.4
"""p of the geometric distribution over the sorted operators (equation 8)."""

LAYERS = (1, 10)
"""Fewest and most layers that an operator is applied to (section 3.3.1)."""

DIVERSE = 0.5
"""lambda of equation 4."""

PARAMETER, FORBIDDEN, FORBIDDEN_SHARE = "change-attribute", "invalid-value", 0.1
"""MParam, what gives a parameter a value that its operator forbids (as ``units = 0``, section 4.3), and how often
MParam does: the paper names no share, and leaves out what cannot be built (section 3.3.4), so that it scores nothing.
"""


def planned(operator: str, choices: Choices, mutators: Sequence[str]) -> tuple[str | None, ...]:
    """An operator on one to ten layers; of MParam's now and then one value that is forbidden.

    Args:
        operator: name of a mutator.
        choices: draw how often.
        mutators: those that may be used; a forbidden value is only drawn if ``invalid-value`` is among them.

    Returns:
        The name as often as it is to be applied, or ``("invalid-value",)``.
    """
    if operator == PARAMETER and FORBIDDEN in mutators and choices.boolean(FORBIDDEN_SHARE):
        return (FORBIDDEN,)
    return (operator,) * choices.integer(*LAYERS)


class Mcmc:
    """Metropolis-Hastings over mutation operators, sorted by the mean score of what they made (equations 4 to 8).

    A mutant is made by one operator on one to ten layers of a random member of the pool, and joins it if its score
    is above 0. ``branch`` of equation 4 is 0 if nobody counts branches: the order is then that of ``diverse`` alone.
    """

    name: ClassVar[str] = "mcmc"
    mutators: ClassVar[tuple[str, ...] | None] = (*group("comet"), FORBIDDEN)
    sprouts: ClassVar[bool] = False
    culls: ClassVar[bool] = False

    def __init__(self, mutators: Sequence[str]) -> None:
        self._mutators = tuple(mutators)
        self._operators = tuple(name for name in mutators if name != FORBIDDEN) or self._mutators
        self._score: dict[str, float] = defaultdict(float)
        self._made: dict[str, int] = defaultdict(int)
        self._last = ""
        self._pool = ParentPool()

    def choose(self, parents: Sequence[P], choices: Choices) -> P:
        """A random member of the pool, all equally likely; the pool takes up what was added to ``parents`` since the
        last call.
        """
        return self._pool.pick(parents, choices)

    def plan(self, parent: Parent, choices: Choices, most: int) -> tuple[str | None, ...]:  # noqa: ARG002 - the protocol's
        """Propose operators at random until one is accepted with probability ``min(1, (1 - p) ** (k2 - k1))``.

        k1 and k2 are the places of the last and the proposed operator in the order of their mean scores (equation 8).
        The accepted one is planned on one to ten layers, whatever ``most`` says.
        """
        ranked = sorted(self._operators, key=lambda op: -self.fitness(op))
        if not self._last:
            self._last = choices.pick(self._operators)
        k1 = ranked.index(self._last)
        while True:
            k2 = choices.index(len(ranked))
            if k2 <= k1 or choices.boolean((1.0 - SUCCESS) ** (k2 - k1)):
                break
        self._last = ranked[k2]
        return planned(self._last, choices, self._mutators)

    def fitness(self, operator: str) -> float:
        """Mean score of the models that an operator made (equation 7); 0 if it made none.

        Args:
            operator: name of a mutator. Its score is the sum of what ``learn`` and ``ran`` counted.
        """
        return self._score[operator] / max(1, self._made[operator])

    def learn(self, parent: Parent, plan: Sequence[str | None], outcome: MutationOutcome) -> None:  # noqa: ARG002 - the protocol's
        """Count a mutant and its score (equation 4) for the planned operator; what came to nothing is none.

        If no edit stands, the parent gives its place in the pool to a random seed instead, and no score changes.
        """
        if not outcome.applied:
            self._pool.spent()
            return
        operator = plan[0] if plan else None
        if operator in self._operators:
            self._made[operator] += 1
            self._score[operator] += score(outcome)

    def ran(self, parent: Parent, applied: Sequence[str], branches: int) -> None:  # noqa: ARG002 - the protocol's
        """Add the other half of a mutant's score (equation 6), to the last of the mutators that were applied: half a
        point if ``branches`` is above 0.
        """
        if applied:
            self._score[applied[-1]] += (1.0 - DIVERSE) * (branches > 0)

    def keeps(self, outcome: MutationOutcome, bar: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether the score of a mutant is above 0 (algorithm 2, line 6).

        ``bar`` is not read, for the paper has none.
        """
        return score(outcome) > 0

    def state(self) -> Mapping[str, Any]:
        """Scores of the operators, the last one, and the pool, as JSON-able data.

        ``made`` has for each operator the sum of its scores and the number of its mutants; ``last`` is empty before the
        first plan.
        """
        made = {op: [self._score[op], self._made[op]] for op in self._operators}
        return {"made": made, "last": self._last, "pool": self._pool.state()}

    def recall(self, state: Mapping[str, Any]) -> None:
        """Go on with the scores and the pool that ``state`` gave. Operators that this search does not have are left
        out; a last one among them counts as none.
        """
        for op, (total, count) in state["made"].items():
            if op in self._operators:
                self._score[op], self._made[op] = total, count
        self._last = state["last"] if state["last"] in self._operators else ""
        self._pool.recall(state["pool"])


def score(outcome: MutationOutcome) -> float:
    """Equation 4, with 0 or 1 for what is new (equations 5 and 6): half a point each for new features of COMET's space
    (``gain``) and for new lines of code (``branches``). One of 0.0, 0.5 and 1.0.
    """
    return DIVERSE * (outcome.gain > 0) + (1.0 - DIVERSE) * (outcome.branches > 0)
