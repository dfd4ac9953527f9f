"""Which slow target runs on which program: at most one a program, in turn, within a share of the job's time."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

from irfuzz.execute.run_types import Target

WINDOW = 256
"""A program is compared with so many before it."""

FIRST = 10.0
"""Seconds that starting a target and running it once is taken to need before that was seen."""

LEAST = 1e-3
"""The same where it has run: what it cannot express at all costs no time that is counted."""

SAVED = 4
"""Runs for which there is time before programs that are nothing special get some of it."""

SAVED_SECONDS = 4.0
"""So much beyond one run is enough as well: of dear ones a short campaign would end before several were saved."""

UNSPENT = 3
"""Of so many times that any program gets some."""

BUSY, SLOW = "milliseconds", "milliseconds of slow targets"
"""Names of counts: the time of a job so far, and what of it slow targets took."""

SAMPLED = "sampled programs"
"""Name of a count: programs on which a slow target ran."""


class Sampling:
    """Which slow target runs on a program of one job, if any does.

    Next comes one that has run no program, else the one that has had least time, its warm-up included; not before the
    time that it takes has been earned. It is spent on the programs that show most that is new among the last
    ``WINDOW``, as many of them as the mean time allows. Where more is earned than cheap ones can spend, one program
    each time, it goes to the one that has run fewest.

    Args:
        targets: the slow ones.
        share: largest part of the job's time for all of them together.
        counts: the job's, where time goes under ``BUSY`` and ``SLOW``; a continued campaign goes on with them.
        clock: seconds.
        until: by that clock; nothing begins that would probably take longer.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        share: float,
        counts: Counter[str],
        clock: Callable[[], float] = time.monotonic,
        until: float = math.inf,
    ) -> None:
        self._slow = {target.name: target for target in targets}
        self._warm: set[str] = set()
        self._share = share
        self._counts = counts
        self._clock = clock
        self._until = until
        self._seen: deque[int] = deque(maxlen=WINDOW)
        self._began = self._last = clock()
        self._programs = 0

    def turn(self, novelty: int, takes: Callable[[Target], bool] = lambda _: True) -> Target | None:
        """The slow target for a program with so many features that no program before it had.

        Args:
            novelty: of the program.
            takes: whether a target could run it at all.
        """
        if not self._slow or not self._share:
            return None
        self._passes()
        seen = max(1, len(self._seen))
        newer = sum(other > novelty for other in self._seen) / seen
        alike = newer + sum(other == novelty for other in self._seen) / seen
        self._seen.append(novelty)
        self._programs += 1
        able = [target for target in self._slow.values() if takes(target)]
        target = min(able, key=self._had, default=None)
        if target is None:
            return None
        rarest = min(able, key=lambda one: self._counts[_runs(one.name)])
        if target.name in self._warm and rarest.name in self._warm:
            left = self._left()
            if left >= max(UNSPENT * self._saved(target), self._each(rarest)):
                target = rarest
        return target if self._affords(target, newer, alike) else None

    def _had(self, target: Target) -> tuple[bool, bool, int]:
        """What a target has had: whatever its warm-up took, one program; then time."""
        runs, name = self._counts[_runs(target.name)], target.name
        return runs > 0, name not in self._warm, self._counts[_spent(name)]

    def _affords(self, target: Target, newer: float, alike: float) -> bool:
        """Whether a target can run a program; those parts of the programs are newer, and at least as new."""
        left, each, saved = self._left(), self._each(target), self._saved(target)
        if each > left or self._last + each > self._until:
            return False
        if target.name not in self._warm or left >= UNSPENT * saved:
            return True
        # What was earned in this run would have been enough for so many of its programs.
        allowed = self._share * (self._last - self._began) / self._mean() / self._programs
        # Of many that are alike the first would take all: they get what newer ones have left over.
        return newer <= allowed and (alike <= allowed or left >= saved)

    def _left(self) -> float:
        """Seconds that are earned and not spent."""
        return (self._share * self._counts[BUSY] - self._counts[SLOW]) / 1000

    def _saved(self, target: Target) -> float:
        """Seconds of which programs that are nothing special get some."""
        each = self._each(target)
        return min(SAVED * each, each + SAVED_SECONDS)

    def _each(self, target: Target) -> float:
        """Seconds that a target will probably take."""
        warm_ups, name = self._counts[_warm_ups(target.name)], target.name
        if name not in self._warm:
            return max(LEAST, self._counts[_warming(name)] / 1000 / warm_ups) if warm_ups else FIRST
        runs, spent = self._counts[_runs(name)], self._counts[_spent(name)] - self._counts[_warming(name)]
        return max(LEAST, spent / 1000 / runs) if runs else LEAST

    def _mean(self) -> float:
        """Seconds that a run took, over all of them."""
        runs = sum(self._counts[_runs(name)] for name in self._slow)
        spent = sum(self._counts[_spent(name)] - self._counts[_warming(name)] for name in self._slow)
        return max(LEAST, spent / 1000 / runs) if runs else FIRST

    def warmed_up(self, target: Target, seconds: float) -> None:
        """Take note of how long it took until a target was ready.

        Args:
            target: that has started; from now on it is warm.
            seconds: that count as the target's, and for all slow ones together.
        """
        self._warm.add(target.name)
        self._counts[_warm_ups(target.name)] += 1
        self._counts[_warming(target.name)] += round(1000 * seconds)
        self._took(target, seconds)

    def ran(self, target: Target, seconds: float) -> None:
        """Take note of how long a target took with a program.

        Args:
            target: that was warm.
            seconds: from which the time for its next program is guessed.
        """
        self._counts[SAMPLED] += 1
        self._counts[_runs(target.name)] += 1
        self._took(target, seconds)

    def drop(self, target: Target) -> None:
        """A target has no turn any more; what it took so far stays counted."""
        self._slow.pop(target.name, None)

    def is_warm(self, target: Target) -> bool:
        """Whether a target is ready."""
        return target.name in self._warm

    def _took(self, target: Target, seconds: float) -> None:
        self._counts[_spent(target.name)] += round(1000 * seconds)
        self._counts[SLOW] += round(1000 * seconds)
        self._passes()

    def _passes(self) -> None:
        now = self._clock()
        self._counts[BUSY] += round(1000 * (now - self._last))
        self._last = now


def _runs(name: str) -> str:
    return f"{name} sampled"


def _spent(name: str) -> str:
    return f"{name} milliseconds"


def _warming(name: str) -> str:
    return f"{name} warm-up milliseconds"


def _warm_ups(name: str) -> str:
    return f"{name} warm-ups"


def share_of(counts: Mapping[str, int]) -> float | None:
    """What part of a campaign's time slow targets took; ``None`` if there are none.

    Args:
        counts: of the campaign, with ``BUSY`` and ``SLOW`` in milliseconds over all jobs.

    Returns:
        From 0 to 1; ``None`` also if they have taken no time yet.
    """
    if not counts.get(SLOW) or not counts.get(BUSY):
        return None
    return counts[SLOW] / counts[BUSY]
