"""Sets aside targets that fail on everything, so that they do not take the time of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.ir.inference.call_output_types import one_line

FAILURES: Mapping[Exit, int] = {
    Exit.HANG: 3,
    Exit.MEMORY: 16,
    Exit.CRASH: 16,
    Exit.EXITED: 16,
    Exit.PROTOCOL: 16,
    Exit.REJECTED: 200,
}
"""After so many of a kind a target that never came back is set aside: a hang takes a thousand times as long as a run, a
death a new process, and a refusal next to nothing. What a target has no kernel for is no failure."""

LOST = 30.0
"""Seconds of failures after which it is set aside as well: one that fills the memory or the disk first takes long."""

OTHERS = 2
"""So many others must have come back by then, for with fewer nothing could be compared any more."""

LONGEST = 160
"""Most characters of the last failure's message in a report."""


class FailingTargets:
    """What one job knows of targets that never came back from a valid program that another one ran.

    A started job knows nothing: a target may have been mended since.
    """

    def __init__(self) -> None:
        self._came_back: set[str] = set()
        self._failed: Counter[str] = Counter()
        self._share: dict[str, float] = {}
        self._aside: set[str] = set()

    @property
    def aside(self) -> Collection[str]:
        """Names of those that are set aside; it grows while the job runs."""
        return self._aside

    def saw(self, results: Sequence[RunResult]) -> list[tuple[Target, str]]:
        """Take note of how a valid program ran.

        Args:
            results: of all targets that ran it. If none came back the program may be to blame, and nothing is counted.

        Returns:
            Those that are set aside from now on, each with the reason.
        """
        fine = {result.target.name for result in results if result.exit is Exit.OK}
        self._came_back |= fine
        if not fine:
            return []
        return [(r.target, self._why(r)) for r in results if r.exit in FAILURES and self._fails_always(r)]

    def _fails_always(self, result: RunResult) -> bool:
        name = result.target.name
        if name in self._came_back or name in self._aside:
            return False
        self._failed[name] += 1
        self._share[name] = self._share.get(name, 0.0) + max(1 / FAILURES[result.exit], result.seconds / LOST)
        if self._share[name] < 1 - 1e-9 or len(self._came_back) < OTHERS:
            return False
        self._aside.add(name)
        return True

    def _why(self, result: RunResult) -> str:
        said = one_line(result.error) or "no message"
        told = f"{result.exit} at {result.stage}: {said}"[:LONGEST]
        return f"set aside: it failed on each of {self._failed[result.target.name]} programs, last with {told}"

    def left(self, targets: Sequence[Target]) -> tuple[Target, ...]:
        """Those of some targets that are not set aside, in their order."""
        return tuple(target for target in targets if target.name not in self._aside)
