"""The search protocol: a strategy chooses the next parent and its edits, and learns what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from irfuzz.choices import Choices


class Parent(Protocol):
    """A program that may be mutated.

    Attributes:
        seed: name of the seed that it comes from.
        nodes: in its main graph.
        features: how many it holds: no cheaper program brought them.
        picked: how often it was a parent.
        favoured: it is one of a few that together brought every feature.
    """

    seed: str
    nodes: int
    features: int
    picked: int
    favoured: bool


P = TypeVar("P", bound=Parent)


@dataclass(frozen=True, slots=True)
class MutationOutcome:
    """What became of a plan.

    Attributes:
        applied: mutators of the edits that stand; empty if nothing could be done.
        gain: features of COMET's space that no program before had.
        features: of those that mutation counts (``irfuzz.mutate.feature_counts``), how many are new or cheaper.
        nodes: of the mutant, which its cost grows with; seconds would make searches differ from run to run.
        worth: of these features, of which rare ones count more; ``None`` if nobody weighs them.
        branches: lines of components under test that no program before had run, if they are counted.
    """

    applied: tuple[str, ...]
    gain: int
    features: int
    nodes: int
    branches: int = 0
    worth: float | None = None


class Search(Protocol):
    """A strategy. All that it draws comes from the choices that it is given, so that campaigns can be repeated.

    Attributes:
        name: as ``--search`` takes it.
        mutators: those that it uses if the user names none; ``None`` for all.
        sprouts: parents of one node are among those that it mutates.
        culls: parents may leave, from any place; if not, the list of parents is only ever appended to.
    """

    name: ClassVar[str]
    mutators: ClassVar[tuple[str, ...] | None]
    sprouts: ClassVar[bool]
    culls: ClassVar[bool]

    def choose(self, parents: Sequence[P], choices: Choices) -> P:
        """The next parent, of those that were kept so far.

        Args:
            parents: at least one, seeds first; a search may count in ``picked`` that it chose one.
            choices: all that is drawn comes from them.
        """
        ...

    def plan(self, parent: Parent, choices: Choices, most: int) -> tuple[str | None, ...]:
        """Names of the mutators of its edits, in order; ``None`` is drawn by the engine's weights.

        Args:
            parent: that ``choose`` gave.
            choices: all that is drawn comes from them.
            most: there are no more edits than about this unless a paper says otherwise.
        """
        ...

    def learn(self, parent: Parent, plan: Sequence[str | None], outcome: MutationOutcome) -> None:
        """Take note of what became of a plan, also if no mutant came of it.

        Args:
            parent: that was mutated.
            plan: as ``plan`` gave it.
            outcome: without applied mutators if nothing could be done.
        """
        ...

    def ran(self, parent: Parent, applied: Sequence[str], branches: int) -> None:
        """Take note that a mutant, of which ``learn`` was told, ran code that no program before had run.

        Args:
            parent: that was mutated.
            applied: mutators of the edits that stand.
            branches: how much of it was new: lines of components under test, and passes that fired first.
        """
        ...

    def keeps(self, outcome: MutationOutcome, bar: int) -> bool:
        """Whether the mutant is to be a parent.

        Args:
            outcome: what became of its plan.
            bar: how many new features it should have; it grows with the corpus. Searches of papers do not read it.
        """
        ...

    def state(self) -> Mapping[str, Any]:
        """All that was learnt, as JSON-able data: a search of the same name that recalls it goes on as this one would,
        given the same choices.
        """
        ...

    def recall(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``state`` gave; what this search does not know, as a mutator that is gone, is left out.

        Args:
            state: after JSON, so that tuples in it may be lists.
        """
        ...
