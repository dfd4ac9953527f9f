"""When a continued campaign runs its stored programs again: at first, if a target is another than it was.

What a campaign stored are a few programs for each operator, type, attribute and pass that it came upon. All targets
agreed on them, or what they disagreed on is known; so what is new in a target since yesterday shows there first, and
not once the same call happens to be drawn again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from irfuzz.campaign.corpus.testcase import CorpusEntry
from irfuzz.store.database import Database

RAN_ON = "stored programs ran on: job "
"""Key of the setting with a job's targets by name, in their versions, and from which iteration until when it runs
stored programs again, before the number of the job.
"""

AGAIN = "stored programs run again"
"""Name of a count."""

MOST, PART = 1000, 0.5
"""Stored programs that a job runs again, and the part of its time that they may take, at most."""


class ChangedTargetTurns:
    """Says which stored program runs as it is in an iteration, if one does.

    Which one comes next follows from the iteration, so that one that kills the job is left behind: the job that goes on
    in its place has the same targets, and goes on with this, too, as long as there is time for it.

    Args:
        database: of the campaign.
        number: of the job.
        jobs: how many there are; they share the programs.
    """

    def __init__(self, database: Database, number: int, jobs: int) -> None:
        self._database = database
        self._number, self._jobs = number, jobs
        self._since = -1
        self._until = 0.0
        self._entries: list[CorpusEntry] | None = None

    def begin(self, targets: Iterable[tuple[str, str]], iteration: int, seconds: float) -> None:
        """Compare the targets with those of the last time, and remember them.

        Args:
            targets: names, each with the version in which it runs or whatever stands for that.
            iteration: the next one of the job.
            seconds: that the job has.
        """
        text = self._database.settings().get(f"{RAN_ON}{self._number}")
        stored: dict[str, Any] = json.loads(text) if text else {}
        known: dict[str, str] = stored.get("targets", {})
        now = dict(targets)
        self._since, self._until = int(stored.get("since", -1)), float(stored.get("until", 0.0))
        if known and any(known.get(name) != version for name, version in now.items()):
            self._since, self._until = iteration, time.monotonic() + PART * seconds
        told = {"targets": {**known, **now}, "since": self._since, "until": self._until}
        self._database.set(f"{RAN_ON}{self._number}", json.dumps(told))

    def turn(self, iteration: int, entries: Callable[[], Sequence[CorpusEntry]]) -> CorpusEntry | None:
        """Which stored program is this iteration's.

        Args:
            iteration: of the job.
            entries: all of the corpus, asked for once.
        """
        place = iteration - self._since
        if self._since < 0 or place >= MOST or time.monotonic() > self._until:
            return None
        if self._entries is None:
            every = sorted(entries(), key=lambda entry: (not entry.favoured, -entry.number))
            self._entries = every[self._number :: self._jobs]
        return self._entries[place] if place < len(self._entries) else None
