"""A pool of at most fifty parents, one of which is drawn (COMET, algorithm 2, UpdateModelPool)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irfuzz.choices import Choices
from irfuzz.search.strategies.strategy_protocol import P

SIZE = 50
"""Models in the pool (section 3.5)."""


class ParentPool:
    """Places of parents in the corpus; a newcomer takes a random one's place once the pool is full.

    The pool begins with all seeds, be they more. A member that came to nothing gives its place to a random seed: the
    paper's models may grow without end, but a pool of programs of the greatest size allowed would never change again.
    """

    def __init__(self) -> None:
        self._places: list[int] = []
        self._known = self._seeds = self._last = 0
        self._spent = False

    def pick(self, parents: Sequence[P], choices: Choices) -> P:
        """A member, all equally likely; at the first call all parents are seeds.

        Args:
            parents: all that were kept so far, in one order, only ever appended to. What was appended since the last
                call joins the pool, and takes a random member's place if that is full.
            choices: draw the member and the places.
        """
        if self._spent:
            self._places[self._last] = choices.index(self._seeds)
            self._spent = False
        first = not self._known
        while self._known < len(parents):
            if first or len(self._places) < SIZE:
                self._places.append(self._known)
            else:
                self._places[choices.index(len(self._places))] = self._known
            self._known += 1
        self._seeds = self._seeds or self._known
        self._last = choices.index(len(self._places))
        return parents[self._places[self._last]]

    def spent(self) -> None:
        """Take note that nothing could be made of the member that was picked last: at the next ``pick`` a random seed
        takes its place.
        """
        self._spent = True

    def state(self) -> Mapping[str, Any]:
        """All of it, as JSON-able data that ``recall`` takes: the members as places in the list of parents, never as
        programs.
        """
        about = {"known": self._known, "seeds": self._seeds, "last": self._last, "spent": self._spent}
        return {**about, "places": list(self._places)}

    def recall(self, state: Mapping[str, Any]) -> None:
        """Go on with these members; parents must be in the order in which they were.

        Args:
            state: what ``state`` gave; what the pool held before is forgotten.
        """
        self._known, self._seeds, self._last = state["known"], state["seeds"], state["last"]
        self._spent, self._places = state["spent"], list(state["places"])
