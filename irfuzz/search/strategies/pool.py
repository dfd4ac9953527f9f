"""Parents that are kept enter, one of at most fifty of them leaves (COMET, algorithm 2, UpdateModelPool)."""

from __future__ import annotations

from collections.abc import Sequence

from irfuzz.choices import Choices
from irfuzz.search.strategies.types import P

SIZE = 50
"""Models in the pool (section 3.5)."""


class Pool:
    """Places of parents in the corpus; a newcomer takes a random one's place once the pool is full.

    The pool begins with all seeds, be they more.
    """

    def __init__(self) -> None:
        self._places: list[int] = []
        self._known = 0

    def pick(self, parents: Sequence[P], choices: Choices) -> P:
        """A member, all equally likely."""
        first = not self._known
        while self._known < len(parents):
            if first or len(self._places) < SIZE:
                self._places.append(self._known)
            else:
                self._places[choices.index(len(self._places))] = self._known
            self._known += 1
        return parents[choices.pick(self._places)]

    def state(self) -> Sequence[int]:
        """How many parents have come, then the places of the members."""
        return [self._known, *self._places]

    def recall(self, state: Sequence[int]) -> None:
        """Go on with these members; parents must be in the order in which they were."""
        self._known, *self._places = state
