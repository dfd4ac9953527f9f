"""How new a program is enters, the slow targets that are to run it leave; together they keep to a share of the time."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

from irfuzz.execute.types import RunResult, Target

WINDOW = 256
"""A program is compared with so many before it."""

FIRST = 2.0
"""Seconds that a target is taken to need before it has run; compilers take longer."""

LEAST = 1e-3
"""The same where it has run: what it cannot express at all costs no time that is counted."""

SAVED = 4
"""Runs for which there is time before programs that are nothing special get some of it."""

BUSY, SLOW = "milliseconds", "milliseconds of slow targets"
"""Names of counts: the time of a job so far, and what of it slow targets took."""

SAMPLED = "sampled programs"
"""Name of a count: programs on which at least one slow target ran."""


class Sampling:
    """Which slow targets run on which programs of one job.

    Each of them gets an equal part of the share. It is spent on the programs that show most that is new among the last
    ``WINDOW``, as many of them as the target's mean time allows, and never before the time that it takes has been
    earned. So what a cheap one leaves over is not given to a dear one, and none starves.

    Args:
        targets: those of the campaign; the others among them run on every program anyhow.
        share: largest part of the job's time for all slow ones together.
        counts: the job's, where time goes under ``BUSY`` and ``SLOW``; a continued campaign goes on with them.
        clock: seconds.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        share: float,
        counts: Counter[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        quick = [t for t in targets if not t.slow]
        # Where all are slow, somebody has asked for that.
        self.quick: tuple[Target, ...] = tuple(quick or targets)
        self._slow = tuple(t for t in targets if t.slow) if quick else ()
        self._share = share / max(1, len(self._slow))
        self._counts = counts
        self._clock = clock
        self._seen: deque[int] = deque(maxlen=WINDOW)
        self._began = self._last = clock()
        self._programs = 0

    def turn(self, novelty: int) -> tuple[Target, ...]:
        """The slow targets for a program with so many features that no program before it had."""
        if not self._slow:
            return ()
        now = self._clock()
        self._counts[BUSY] += round(1000 * (now - self._last))
        self._last = now
        seen = max(1, len(self._seen))
        newer = sum(other > novelty for other in self._seen) / seen
        alike = newer + sum(other == novelty for other in self._seen) / seen
        self._seen.append(novelty)
        self._programs += 1
        chosen = tuple(t for t in self._slow if self._affords(t, newer, alike))
        if chosen:
            self._counts[SAMPLED] += 1
        return chosen

    def _affords(self, target: Target, newer: float, alike: float) -> bool:
        """Whether a target can run a program; those parts of the programs are newer, and at least as new."""
        earned = self._share * self._counts[BUSY] / 1000
        runs, spent = self._counts[_runs(target)], self._counts[_spent(target)] / 1000
        each = max(LEAST, spent / runs) if runs else FIRST
        # What was earned in this run would have been enough for so many of its programs.
        allowed = self._share * (self._last - self._began) / each / self._programs
        if spent + each > earned or newer > allowed:
            return False
        # Of many that are alike the first would take all: they get what newer ones have left over.
        return alike <= allowed or spent + SAVED * each <= earned

    def ran(self, results: Sequence[RunResult]) -> None:
        """Take note of what slow targets took."""
        for result in results:
            if result.target.slow and self._slow:
                self._counts[_runs(result.target)] += 1
                self._counts[_spent(result.target)] += round(1000 * result.seconds)
                self._counts[SLOW] += round(1000 * result.seconds)


def _runs(target: Target) -> str:
    return f"{target.name} sampled"


def _spent(target: Target) -> str:
    return f"{target.name} milliseconds"


def share_of(counts: Mapping[str, int]) -> float | None:
    """What part of a campaign's time slow targets took; ``None`` where there are none."""
    if not counts.get(SLOW) or not counts.get(BUSY):
        return None
    return counts[SLOW] / counts[BUSY]
