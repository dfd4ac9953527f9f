"""When a job runs the seeds as they are: all of them first, or now and then if many targets run each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

SPREAD = 4
"""With many targets every so many iterations is a seed's."""

PART = 0.25
"""And seeds take no more than this part of the time that workers need."""

DEFERRED = "turns of seeds that were put off"
"""Name of a count."""


class SeedTurns:
    """Says which seed runs as it is in an iteration, if one does.

    A seed of the world's size takes many targets as long as a hundred small programs. Which one comes next follows from
    the iteration and from how many turns were put off, so that one that kills the job is left behind.

    Args:
        many: the targets are many; if not, every iteration is a seed's until there are no more.
        counts: of the job, for ``DEFERRED``.
    """

    def __init__(self, counts: Counter[str], *, many: bool) -> None:
        self._spread, self._part = (SPREAD, PART) if many else (1, 1.0)
        self._counts = counts
        self._seeds = self._all = 0.0

    def turn(self, iteration: int, runs: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        """Which of the runs of seeds is this iteration's.

        Args:
            iteration: of the job; asked once.
            runs: places of seeds and numbers of their samples, in order (``SeedSamples.alone``).
        """
        place, rest = divmod(iteration, self._spread)
        place -= self._counts[DEFERRED]
        if rest or place >= len(runs):
            return None
        if self._seeds > self._part * self._all:
            self._counts[DEFERRED] += 1
            return None
        return runs[place]

    def took(self, seconds: float, *, seed: bool) -> None:
        """Take note of how long workers needed for a program.

        Args:
            seconds: of all targets together.
            seed: it was a seed as it is.
        """
        self._all += seconds
        self._seeds += seconds if seed else 0.0
