"""Recorded randomness: typed draws from a seed, each of which can be replayed from the record."""

from __future__ import annotations

import random
from bisect import bisect, insort
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import TypeVar

from irfuzz.errors import InvalidProgram

T = TypeVar("T")

Draw = int | float


COPIED = 1 << 12
"""Items up to which they are copied to draw several of them; a range may be longer than memory."""


class Choices:
    """The only source of randomness in irfuzz (design: ``Choices``).

    Every draw is an ``int`` (an index or an integer) or a ``float`` and is appended to ``record``.
    Replaying a record gives the same answers; a draw that does not fit the record raises
    ``InvalidProgram``, because the trace then belongs to another program or version.
    """

    __slots__ = ("_random", "_replay", "record")

    def __init__(self, rng: random.Random | None, replay: Sequence[Draw] | None = None) -> None:
        self._random = rng
        self._replay = None if replay is None else list(replay)
        self.record: list[Draw] = []

    @classmethod
    def from_seed(cls, seed: int | str) -> Choices:
        """Draw from a pseudo-random sequence; equal seeds give equal draws in every process.

        Args:
            seed: any integer or text, as ``random.Random`` takes it.
        """
        return cls(random.Random(seed))  # noqa: S311 - reproducibility is wanted, not secrecy

    @classmethod
    def from_record(cls, record: Sequence[Draw]) -> Choices:
        """Answer from a record made earlier by ``Choices.record``.

        A draw raises ``InvalidProgram`` if the record is used up, or if the next number in it is not of the kind or not
        in the range that is asked for.

        Args:
            record: the draws in order; it is copied.
        """
        return cls(None, record)

    def mark(self) -> int:
        """Position in the record, to cut out what one edit has drawn (``record[mark:]``)."""
        return len(self.record)

    def integer(self, low: int, high: int) -> int:
        """Draw an integer in ``[low, high]``, both ends included.

        Raises:
            ValueError: ``low`` is above ``high``.
            InvalidProgram: a record is replayed, and its next draw is no such integer.
        """
        if low > high:
            raise ValueError(f"empty range [{low}, {high}]")
        if self._replay is not None:
            value = self._next(int)
            if not low <= value <= high:
                raise InvalidProgram(
                    f"trace draw {len(self.record)}: expected an integer in [{low}, {high}], got {value}"
                )
        else:
            value = low if low == high else self._rng().randint(low, high)
        self.record.append(value)
        return int(value)

    def index(self, count: int) -> int:
        """Draw an index into a sequence of ``count`` items: 0 to ``count - 1``, all equally likely.

        Raises:
            ValueError: ``count`` is 0.
        """
        return self.integer(0, count - 1)

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of ``items``, all equally likely; the record holds its index.

        Raises:
            ValueError: there are no items.
        """
        return items[self.index(len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of ``items`` with probability proportional to its weight; the record holds its index.

        Args:
            items: at least one.
            weights: one for each item; they need not add up to 1, and a replayed record does without them.

        Raises:
            ValueError: there are no items, not one weight each, or the weights have no finite sum above 0.
        """
        if len(items) != len(weights) or not items:
            raise ValueError("weighted() needs one weight for each of at least one item")
        if self._replay is not None:
            return self.pick(items)
        # What random.choices() draws, without its second look at everything.
        sums = list(accumulate(weights))
        total = sums[-1] + 0.0
        if not 0.0 < total < inf:
            raise ValueError(f"weighted() needs weights with a finite sum above 0, got {total}")
        chosen = bisect(sums, self._rng().random() * total, 0, len(sums) - 1)
        self.record.append(chosen)
        return items[chosen]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw ``count`` different items (all if there are not so many), in random order.

        Each takes one draw, and ``items`` itself is not changed.
        """
        if len(items) <= COPIED:
            left = list(items)
            return [left.pop(self.index(len(left))) for _ in range(min(count, len(left)))]
        taken: list[int] = []  # in rising order; what is drawn counts those that are left
        found: list[T] = []
        for _ in range(min(count, len(items))):
            place = self.index(len(items) - len(taken))
            for one in taken:
                place += one <= place
            insort(taken, place)
            found.append(items[place])
        return found

    def boolean(self, probability: float = 0.5) -> bool:
        """Draw true with the given probability (0 to 1); the record holds 1 or 0."""
        if self._replay is not None:
            return bool(self.integer(0, 1))
        no = 1.0 - probability
        chosen = self._rng().random() * (no + probability) >= no  # as weighted() draws it
        self.record.append(int(chosen))
        return chosen

    def real(self, low: float, high: float) -> float:
        """Draw a float in ``[low, high]``, all equally likely; a replayed number is not checked against the range."""
        value = self._next(float) if self._replay is not None else self._rng().uniform(low, high)
        self.record.append(value)
        return float(value)

    def seed(self) -> int:
        """Draw a 32-bit seed for a bulk generator (``numpy.random.default_rng``).

        What that generator gives is not recorded one by one: the record needs this entry alone.
        """
        return self.integer(0, 2**32 - 1)

    def _rng(self) -> random.Random:
        assert self._random is not None
        return self._random

    def _next(self, kind: type) -> Draw:
        assert self._replay is not None
        position = len(self.record)
        if position >= len(self._replay):
            raise InvalidProgram(f"trace ends after {position} draws, but the edit asks for one more")
        value = self._replay[position]
        if kind is int and (isinstance(value, bool) or not isinstance(value, int)):
            raise InvalidProgram(f"trace draw {position}: expected an integer, got {value!r}")
        if not isinstance(value, int | float):
            raise InvalidProgram(f"trace draw {position}: expected a number, got {value!r}")
        return value
