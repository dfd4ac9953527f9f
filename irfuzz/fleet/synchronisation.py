"""Keeps an agent's folder and the store of its fleet in step, from a thread of its own, and waits for a store away."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.campaign.monitoring.campaign_figures import target_tallies
from irfuzz.errors import InternalError, IrfuzzError
from irfuzz.fleet.agent_registry import (
    AgentAccount,
    AgentFigures,
    AgentState,
    Orders,
    beat,
    forget_silent,
)
from irfuzz.fleet.finding_exchange import FINDINGS, FindingsGiven, give_findings
from irfuzz.fleet.mark_exchange import MarkIntake, give_marks
from irfuzz.fleet.program_exchange import ProgramIntake, features_of, give, prepare
from irfuzz.fleet.reporting.finding_labels import finding_labels, label_folders
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.shared_work import SharedWork, WorkSetting
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.report.pages.index_page import TargetTally
from irfuzz.store.database import Database
from irfuzz.store.taken_programs import own_count, own_programs, taken_after

EVERY = 5.0
"""Seconds between two synchronisations."""

LONGEST_PAUSE = 30.0
"""Seconds to which the wait for an absent store grows, from ``FIRST_PAUSE`` on."""

FIRST_PAUSE = 1.0

TALLIES_EVERY = 30.0
"""Seconds between two looks at what each target did."""

TURNS = 20
"""Batches in one synchronisation; what is left goes with the next, so that orders are heard."""


class FolderSync:
    """Synchronises one folder; each method may be called by one thread at a time.

    Nothing is lost and nothing is there twice wherever the process is killed: blobs come before the rows that name
    them, rows have the numbers of the folder, and what is taken in is stored with how far others were looked at.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        database: the folder's, in a connection of its own.
        account: of the agent.
        targets: names of what the agent runs.
        scratch: folder in the campaign's own in which findings of others are written to run their scripts.
        setting: what the agent does for others.
    """

    def __init__(
        self, store: StoreConnection, blobs: SharedBlobs, database: Database, account: AgentAccount,
        targets: Sequence[str], scratch: Path, setting: WorkSetting | None = None,
    ) -> None:  # fmt: skip
        self.state = AgentState.RUNNING
        self.orders = account.orders
        self._store, self._blobs, self._database, self._account = store, blobs, database, account
        self._sequence, self._taken = account.sequence, account.taken
        self._findings = FindingsGiven(database, account.first_job, blobs)
        self._work = SharedWork(store, blobs, account.name, targets, scratch, setting)
        self.intake = ProgramIntake(store, blobs, database, account.name)
        self._marks, self._marked = MarkIntake(store, database, account.name), 0
        self._features: set[int] = set()
        self._layout, self._labels = Layout(scratch.parent), dict[str, str]()
        self._tallies, self._tallied = list[TargetTally](), 0.0
        self._before = time.monotonic(), self._programs()
        self._syncs, self._seconds, self._cpu = 0, 0.0, 0.0

    def synchronise(self, *, work: bool = True) -> Orders:
        """Give what is new, take what is, and hear what to do.

        Args:
            work: take leases, too.

        Raises:
            StoreUnreachable: the store or the blobs are away; what was given until then stays given.
            UsageError: another process has taken the agent's name over, or the store refuses.
        """
        began, cpu = time.monotonic(), time.thread_time()
        try:
            for _ in range(TURNS):
                if not self._give():
                    break
            for _ in range(TURNS):
                if not self.intake.take():
                    break
            for _ in range(TURNS):
                if not self._marks.take():
                    break
            if work and self.orders is Orders.RUN:
                self._work.go_on()
        finally:
            self._syncs += 1
            self._seconds += time.monotonic() - began
            self._cpu += time.thread_time() - cpu
        return self.orders

    def left(self) -> int:
        """How many programs and findings the store does not have yet."""
        return (
            own_count(self._database, self._sequence)
            + len(self._findings.changed())
            + len(self._findings.seen_elsewhere())
        )

    def close(self) -> None:
        """End what was begun for others."""
        self._work.close()

    def _give(self) -> bool:
        """Give one batch, be heard of, and hear what to do; whether there may be more."""
        rows = own_programs(self._database, self._sequence)
        programs = prepare(rows, self._account.first_job, self._database.blobs, self._blobs)
        taken = taken_after(self._database, self._taken)
        marks = self._database.marks.own(self._marked)  # before the findings to which they lead
        findings, seen = self._findings.news(), self._findings.seen_elsewhere()
        if len(findings) == FINDINGS:
            marks = []  # the next batch may hold what they lead to
        with self._store.transaction() as connection:
            self.orders = beat(self._store, connection, self._account, self._figures())
            give(self._store, connection, self._account, programs, taken, self._features)
            lost = give_findings(self._store, connection, self._account, findings, seen)
            give_marks(self._store, connection, self._account, marks)
            self._work.offer(connection, [f.row for f in findings])
            forget_silent(connection)
            self._labels = finding_labels(connection)
        self._sequence = programs[-1].sequence if programs else self._sequence
        self._taken = taken[-1].number if taken else self._taken
        self._features |= features_of(programs)
        self._marked = marks[-1].number if marks else self._marked
        self._findings.told(findings, seen)
        if lost:
            self._database.marks.forget_others(lost)
        label_folders(self._database, self._layout, self._labels)
        return bool(programs or taken or findings or seen or marks)

    def _programs(self) -> int:
        return sum(tally[2] for tally in self._database.tallies())

    def _figures(self) -> AgentFigures:
        (when, programs), now = self._before, time.monotonic()
        done = self._programs()
        self._before = now, done
        counts = {"looked at": self.intake.looked_at, "taken in": self.intake.taken, "missing": self.intake.missing}
        return AgentFigures(
            self.state, done, (done - programs) / max(0.1, now - when), self._database.corpus_size(), self._syncs,
            self._seconds, self._cpu, counts, self._target_tallies(now),
        )  # fmt: skip

    def _target_tallies(self, now: float) -> list[TargetTally]:
        """What each target did here, as of some seconds ago; how often it was wrong is known from the sightings."""
        if not self._tallied or now - self._tallied > TALLIES_EVERY or self.state is AgentState.ENDED:
            counts: Counter[str] = Counter()
            for _, _, _, more in self._database.tallies():
                counts.update(more)
            self._tallies = [t for t in target_tallies(self._database.settings(), counts, ()) if not t.absent]
            self._tallied = now
        return self._tallies


class SyncThread:
    """Synchronises again and again until it is told to end; an absence of the store is told once, and its end once.

    Args:
        sync: of the folder.
        say: prints a line.
        every: seconds between two synchronisations.

    Attributes:
        failed: what ended the thread; ``None`` as long as nothing did.
    """

    def __init__(self, sync: FolderSync, say: Callable[[str], None], every: float = EVERY) -> None:
        self.failed: IrfuzzError | None = None
        self.orders = sync.orders
        self._sync, self._say, self._every = sync, say, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="irfuzz-fleet-sync", daemon=True)
        self._away = 0.0
        self._pause = FIRST_PAUSE

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self, patience: float) -> bool:
        """Stop, and synchronise a last time; False if the store was away for all of that time.

        Args:
            patience: seconds in which the store may come back.
        """
        self._stop.set()
        self._thread.join()
        until = time.monotonic() + patience
        while self.failed is None:
            if self._once(work=False):
                if not self._sync.left():
                    return True
                if time.monotonic() < until:
                    time.sleep(FIRST_PAUSE / 10)
                    continue
            if time.monotonic() + self._pause >= until:
                return False
            time.sleep(self._pause)
        return False

    def _run(self) -> None:
        while not self._stop.is_set() and self.failed is None:
            fine = self._once(work=True)
            self._stop.wait(self._every if fine else self._pause)

    def _once(self, *, work: bool) -> bool:
        """One synchronisation; False if the store is away."""
        try:
            self.orders = self._sync.synchronise(work=work)
        except StoreUnreachable as error:
            if not self._away:
                self._away = time.monotonic()
                self._say(f"{error}; work is kept here meanwhile")
            self._pause = min(LONGEST_PAUSE, self._pause * random.uniform(1.5, 2.5))  # noqa: S311 - agents part ways
            return False
        except IrfuzzError as error:
            self.failed = error
            return True
        except Exception as error:  # noqa: BLE001 - a fault of ours ends the agent, which would go on unseen otherwise
            self.failed = InternalError(f"synchronisation failed: {type(error).__name__}: {error}")
            return True
        if self._away:
            self._say(f"the store is back after {time.monotonic() - self._away:.0f} s")
        self._away, self._pause = 0.0, FIRST_PAUSE
        return True
