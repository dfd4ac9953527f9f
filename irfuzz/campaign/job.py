"""One process of a campaign: it goes on where the job of its number was stopped or died, and runs the loop."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from types import FrameType
from typing import Any

from irfuzz.campaign import inflight_journal, loop
from irfuzz.campaign.config import OVERTIME, SECONDS, STOP_AT, Config, Layout
from irfuzz.campaign.monitoring.internal_error_guard import InternalErrorGuard
from irfuzz.campaign.strategy import Strategy
from irfuzz.campaign.targets.start_reports import JobTargets
from irfuzz.errors import InternalError, IrfuzzError, UsageError
from irfuzz.garbage_collection import settle
from irfuzz.isolate import stray_processes
from irfuzz.isolate.linux import signal_at_parents_death, stay_on_core
from irfuzz.isolate.worker_spec_and_reply import StartError
from irfuzz.store.database import Database

HOPELESS = 30
"""After so many iterations in a row that failed by our own fault the job gives up."""

STRATEGIES: Mapping[str, str] = {
    "differential": "irfuzz.campaign.differential_strategy:Differential",
    "self-test": "irfuzz.campaign.metamorphic_testing_strategy:SelfTests",
}
"""Kinds of campaigns; a job imports its own alone."""


class Job:
    """What one process knows of its part of a campaign.

    Args:
        out: the campaign's folder; its database holds settings and seeds already.
        number: which job this is, from 0. Its programs depend on the campaign's seed and on this number alone, up to
            what the other jobs add to the corpus meanwhile.
        kind: one of ``STRATEGIES``.
        skip: leave out the program at which this job died.

    Attributes:
        layout: of the folder.
        database: of the campaign.
        config: of the campaign.
        iteration: the next one.
        programs: judged so far.
        counts: everything else that is counted.
        skip: the iteration that is left out; -1 for none.
        journal: what the job is busy with now.
        guard: lets faults of our own pass.
        targets: which it could start.
        stop: somebody asked it to end.
    """

    def __init__(self, out: Path, number: int, kind: str = "differential", *, skip: bool = False) -> None:
        self.layout = Layout(out)
        self.number = number
        self.database = Database(self.layout.database)
        settings = self.database.settings()
        self.config = Config.from_json(settings["config"])
        seconds, until = json.loads(settings.get(SECONDS) or "null") or (math.inf, math.inf)
        self._time = float(seconds), float(until)
        self.iteration, self.programs, counts = self.database.tally(number)
        self.counts: Counter[str] = Counter(counts)
        self.skip = self._alone_until = -1
        if skip:
            self._learn(inflight_journal.read(self.layout.inflight(number)))
        self.journal = inflight_journal.Journal(self.layout.inflight(number))
        self.journal.makes(self.iteration)
        about = {"job": number, "seed": self.config.seed}
        self.guard = InternalErrorGuard(out, self.database, about, self.counts, lambda text: _say(number, text))
        self.targets = JobTargets(self.database, number)
        self.stop = False
        self._failed = 0
        self.strategy: Strategy[Any, Any] = resolve_name(STRATEGIES[kind])(self)
        settle()

    def run(self) -> None:
        """Work until told to stop, or until this job alone has run as many programs as the campaign is to run.

        Raises:
            UsageError: a target cannot be used, or the folder can no longer be written.
            InternalError: one iteration after the other fails by our own fault.
        """
        stay_on_core(self.number, self.config.jobs)
        runner = self.strategy.runner()
        with self.targets.watching(lambda: runner.starting), runner:
            for absent in runner.absent:
                self.targets.drop(absent.target, absent.why_not)
            self.targets.use(self.strategy.begin(runner))
            loop.fuzz(self, self.strategy, int(self.database.settings().get(STOP_AT) or 1 << 62))
        self.strategy.save(now=True)
        try:
            self.strategy.end()
        except UsageError as error:
            _say(self.number, str(error))  # `irfuzz targets --json` knows less; the campaign is none the worse
        self.journal.close()
        self.database.close()

    def _learn(self, busy: inflight_journal.InFlight) -> None:
        """Decide what is left out after a death; if several programs ran, they run one by one first to find out which.

        If a case was looked into that had waited, no program is left out.
        """
        if busy.case:
            self.database.waiting.strike(busy.case)
            return
        if busy.iteration < 0 and len(busy.models) > 1:
            self._alone_until = max(busy.models) + 1
            return
        self.skip = max(self.iteration, busy.iteration if busy.iteration >= 0 else max(busy.models, default=-1))
        self._alone_until = self.skip + 1

    def time(self) -> tuple[float, float]:
        """Seconds that this run of the campaign has, and those that are left of it; infinite if it has no end."""
        seconds, until = self._time
        return seconds, until - time.monotonic()

    def case_model(self) -> bytes | None:
        """The model of the stored disagreement that is looked into; ``None`` if none is."""
        case = self.journal.case
        return self.database.waiting.model(case) if case else None

    def ends(self) -> bool:
        """Whether this job was asked to end, or is about to be: the time is up."""
        return self.stop or self.time()[1] <= 0

    def patience(self) -> float:
        """Seconds after which whatever this job is busy with has to be stored, or is lost."""
        return self.time()[1] + OVERTIME

    def together(self, most: int, refresh: int) -> int:
        """How many of the next programs may be made together: one after a death, none beyond a look at the corpus."""
        return 1 if self.iteration < self._alone_until else min(most, refresh - self.iteration % refresh)

    def advance(self, *, passed: bool, save: bool) -> None:
        """One iteration is done; store how far this job has come if it is to end, or to ``save`` what took long.

        Raises:
            InternalError: one iteration after the other fails by our own fault.
        """
        self._failed = 0 if passed else self._failed + 1
        self.iteration += 1
        if save or self.stop or self._failed >= HOPELESS:
            self.save()
        if self._failed >= HOPELESS:
            raise InternalError(f"{self._failed} iterations in a row failed; see {self.layout.internal}")

    def save(self) -> None:
        """Let the database know how far this job has come."""
        new = self.strategy.corpus.take_new()
        self.strategy.save()
        self.counts["corpus"] += self.database.record(self.number, self.iteration, self.programs, self.counts, new)


def _say(job: int, text: str) -> None:
    with contextlib.suppress(OSError):  # the disk may be full, and the campaign sees that
        sys.stderr.write(f"irfuzz job {job}: {text}\n")
        sys.stderr.flush()


def main(argv: Sequence[str]) -> int:
    """Entry point of the process: ``python -m irfuzz.campaign.job OUT NUMBER PARENT KIND [skip]``.

    Returns:
        0 when asked to end, 2 if the user can do something (the last line says what), 3 for a fault of our own.
    """
    out, number, parent, kind = Path(argv[0]), int(argv[1]), int(argv[2]), argv[3]
    job: Job | None = None
    asked = False

    def ask_to_stop(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if os.getppid() != parent:
            os._exit(1)  # the campaign was killed: nobody waits, and the next one wants the folder
        asked = True
        if job is not None:
            job.stop = True

    signal.signal(signal.SIGTERM, ask_to_stop)
    # The terminal's Ctrl-C is for the campaign, which then asks us to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal_at_parents_death(signal.SIGTERM)
    stray_processes.adopt()
    if os.getppid() != parent:
        return 1
    try:
        job = Job(out, number, kind, skip="skip" in argv[4:])
        job.stop = asked
        job.run()
    except StartError as error:
        _say(number, str(error))
        _say(number, str(error).splitlines()[0])
        return 3  # it had started before: the campaign tries again
    except UsageError as error:
        _say(number, " ".join(str(error).split()))
        return 2
    except IrfuzzError as error:
        _say(number, f"{type(error).__name__}: {' '.join(str(error).split())}")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
