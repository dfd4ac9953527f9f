"""Targets that did not come back from a seed's mutant enter; who is spared the seed's other mutants leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from irfuzz.execute.types import Exit, RunResult, Target
from irfuzz.generate.sprouts import sprouts

SPARED = "spared"
"""Name of a count."""


class Stuck:
    """What one job knows of hangs: one of them takes as long as a thousand runs, and the seed's next mutant hangs too.

    Programs that grow from one node have little in common: with them nobody is spared anything.
    """

    def __init__(self) -> None:
        self._hung: set[tuple[str, str]] = set()

    def saw(self, seed: str, results: Sequence[RunResult]) -> None:
        """Take note of how the mutant of a seed ended."""
        if seed not in sprouts():
            self._hung.update((r.target.component, seed) for r in results if r.exit is Exit.HANG)

    def spared(self, seed: str, targets: Sequence[Target], counts: Counter[str]) -> tuple[Target, ...]:
        """The targets that are to run a mutant of a seed."""
        left = tuple(t for t in targets if (t.component, seed) not in self._hung)
        counts[SPARED] += len(targets) - len(left)
        return left
