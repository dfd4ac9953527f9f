"""When a child must have answered, on a machine however busy."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from irfuzz.isolate import linux


class RequestDeadline:
    """The end of a child's time for a request, which is put off by what others on the machine keep the child from.

    That is what a thread of the child was ready to run and had no processor, as the kernel counts it, but no more than
    the time in which the child's threads together did not run either: what they take from one another is no such wait,
    or a component with a hundred threads that spin would never hang.
    """

    __slots__ = ("_began", "_changed", "_ran", "_seconds", "_times", "_waited", "_waiting")

    def __init__(self) -> None:
        self.begin(0.0)

    def begin(self, seconds: float) -> None:
        """Give so much time from now on."""
        self._began = time.monotonic()
        self._seconds = seconds
        self._times: dict[int, tuple[int, int]] = {}
        self._changed: dict[int, float] = {}
        self._waited = self._waiting = self._ran = 0.0

    def left(self) -> float:
        """Seconds until it; below 0 if it has passed."""
        elapsed = time.monotonic() - self._began
        return self._seconds + max(0.0, min(self._waited + self._waiting, elapsed - self._ran)) - elapsed

    def look(self, pids: Iterable[int]) -> None:
        """Take note of what the child's processes had of the processors since the last look.

        Args:
            pids: of the child, and of all that it started.
        """
        now = time.monotonic()
        times = {task: known for pid in pids for task, known in linux.processor_times(pid).items()}
        spent = [
            (mine[0] - then[0], mine[1] - then[1]) for task, mine in times.items() if (then := self._times.get(task))
        ]
        ran = [run for run, wait in spent if run or wait]
        at_once = max(1, min(len(ran), len(os.sched_getaffinity(0))))
        self._ran += sum(ran) / 1e9 / at_once
        self._waited += max((wait for _, wait in spent), default=0) / 1e9
        self._changed = {
            t: self._changed.get(t, now) if mine == self._times.get(t) else now for t, mine in times.items()
        }
        # The kernel counts a wait when it is over.
        self._waiting = max(
            (now - at for task, at in self._changed.items() if at < now and linux.is_ready(task)), default=0
        )
        self._times = times
