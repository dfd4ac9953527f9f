"""What an agent does for all of its fleet between two synchronisations, beside its own campaign."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, select

from irfuzz.errors import IrfuzzError, UsageError
from irfuzz.execute.target_table import resolve
from irfuzz.findings.codec import finding_of
from irfuzz.fleet.blob_sweep import sweep_blobs
from irfuzz.fleet.finding_exchange import shared_findings, with_bytes
from irfuzz.fleet.fleet_schema import store_time
from irfuzz.fleet.lease_table import (
    LeaseKind,
    WorkLease,
    end_lease,
    fail_lease,
    offer,
    renew_lease,
    return_lease,
    take_first,
)
from irfuzz.fleet.shared_blobs import GRACE, SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.fleet.upkeep.agent_abilities import WORK, abilities, bisects, environments_stamp, has_release
from irfuzz.fleet.upkeep.corpus_distillation import next_night, remove_dropped
from irfuzz.fleet.upkeep.release_following import INSTALL, LOOK, ReleaseState, followed_releases, offer_looks
from irfuzz.fleet.upkeep.work_process import WorkProcess
from irfuzz.fleet.upkeep.work_request import WorkRequest, WorkResult
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.script_replay import run_repro
from irfuzz.store.database import FindingRow, Status

SCRIPT_SECONDS = 120.0
"""What the script of a finding may take on another machine."""

END_SECONDS = 10.0
"""What is left of that when the agent ends."""

LEASE_SECONDS = 300.0
"""How long work is an agent's own, unless it is renewed, or the agent is forgotten before."""

RENEW_SECONDS = 60.0
"""How often work that takes long is renewed."""

AGAIN_SECONDS = 60.0
"""After so long work that has failed is free again."""

RETRY_SECONDS = 3600.0
"""After so long a machine tries again to install a release that it could not."""

BLOBS, CORPUS = "blobs", "corpus"
"""The only items of ``LeaseKind.SWEEP`` and ``LeaseKind.DISTIL``."""

SLOW = (
    LeaseKind.FOLLOW, LeaseKind.DISTIL, LeaseKind.CONFIRM, LeaseKind.RECHECK, LeaseKind.REPLAY, LeaseKind.VERSIONS,
    LeaseKind.REDUCE,
)  # fmt: skip
"""Kinds of which an agent does one at a time beside its campaign, in the order in which it looks for them."""


@dataclass(frozen=True, slots=True)
class WorkSetting:
    """What an agent does for others.

    Attributes:
        work: kinds that its user allows, as ``read_work`` gives them.
        follow: distributions of whose new releases it makes environments.
        look: seconds between two looks at the package index.
        out: the agent's folder.
        timeout: seconds that a target may take with one program.
    """

    work: tuple[str, ...] = WORK
    follow: tuple[str, ...] = ()
    look: float = LOOK
    out: Path = field(default_factory=Path)
    timeout: float = 10.0


@dataclass(slots=True)
class _Replay:
    lease: WorkLease
    thread: threading.Thread
    result: WorkResult = field(default_factory=lambda: WorkResult("irfuzz failed at it", failed=True))

    def ended(self) -> WorkResult | None:
        """What became of it; ``None`` as long as it runs."""
        return None if self.thread.is_alive() else self.result

    def close(self) -> None:
        """Wait for it, but not for long; what takes longer ends with this process."""
        self.thread.join(END_SECONDS)


class SharedWork:
    """One agent's part of the work that is there once for all.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        agent: its name.
        targets: names of what it runs.
        scratch: folder for findings of others, which is removed again.
        setting: what it does for others.
    """

    def __init__(
        self, store: StoreConnection, blobs: SharedBlobs, agent: str, targets: Sequence[str], scratch: Path,
        setting: WorkSetting | None = None,
    ) -> None:  # fmt: skip
        self._store, self._blobs, self._agent = store, blobs, agent
        self._targets, self._scratch = list(targets), scratch
        self._setting = setting or WorkSetting()
        self._busy: _Replay | WorkProcess | None = None
        self._lease: WorkLease | None = None  # of what is busy; None if that is this machine's alone
        self._renewed = 0.0
        self._offered = False
        self._able: tuple[tuple[str, ...], list[str]] | None = None
        self._not_before: dict[str, float] = {}

    def offer(self, connection: Connection, findings: Sequence[FindingRow]) -> None:
        """Offer what is to be done about findings and for the store, as a part of a transaction.

        Args:
            connection: of the transaction.
            findings: that the store just got of this agent.
        """
        for row in findings:
            if row.status == Status.CONFIRMED and not row.suspect:
                self._offer_upkeep(connection, row)
        if not self._offered:
            offer(self._store, connection, LeaseKind.SWEEP, BLOBS)
            now = float(connection.execute(select(store_time())).scalar_one())
            offer(self._store, connection, LeaseKind.DISTIL, CORPUS, since=next_night(now))
            if self._setting.follow:
                offer_looks(self._store, connection, self._setting.follow, self._setting.look)
            self._offered = True

    def _offer_upkeep(self, connection: Connection, row: FindingRow) -> None:
        """What others do about a finding: they run its script, ask releases, and go on with its reduction."""
        key = row.signature
        offer(self._store, connection, LeaseKind.CONFIRM, key, needs=row.target, maker=self._agent)
        offer(self._store, connection, LeaseKind.VERSIONS, key, needs=bisects(row.target))
        cause = json.loads(row.verdict).get("cause")
        if cause is not None and not cause.get("settled", True):
            offer(self._store, connection, LeaseKind.REDUCE, key, needs=row.target)

    def go_on(self) -> None:
        """Take what is free and this agent can do, and tell what is done.

        Raises:
            StoreUnreachable: the store or the blobs are away.
        """
        self._sweep()
        if self._busy is None:
            self._begin_something()
            return
        result = self._busy.ended()
        if result is None:
            self._renew()
            return
        if self._lease is not None:
            self._tell(self._lease, result)
        self._busy = self._lease = None

    def close(self) -> None:
        """End what is under way, and remove its folder; it is free for others once its lease is over."""
        if self._busy is not None:
            self._busy.close()
            if self._lease is not None and isinstance(self._busy, WorkProcess):
                self._give_back(self._lease)
        shutil.rmtree(self._scratch, ignore_errors=True)

    # ---- taking and telling -------------------------------------------------------------------

    def _take(self, kinds: Sequence[LeaseKind]) -> WorkLease | None:
        allowed = [kind for kind in kinds if kind is LeaseKind.FOLLOW or kind.value in self._setting.work]
        return take_first(self._store, allowed, self._agent, self._abilities(), LEASE_SECONDS) if allowed else None

    def _abilities(self) -> list[str]:
        stamp = environments_stamp()
        if self._able is None or self._able[0] != stamp:
            self._able = stamp, abilities(self._targets, self._setting.follow)
        return self._able[1]

    def _sweep(self) -> None:
        """Once an hour, at once: what it takes is a list of blobs."""
        lease = self._take([LeaseKind.SWEEP])
        if lease is not None:
            gone, removed = remove_dropped(self._store), sweep_blobs(self._store, self._blobs)
            words = f"{removed} removed, with {gone} dropped programs"
            end_lease(self._store, lease, self._agent, words, again_in=GRACE)

    def _tell(self, lease: WorkLease, result: WorkResult) -> None:
        if result.failed:
            fail_lease(self._store, lease, self._agent, result.told, again_in=AGAIN_SECONDS)
        else:
            end_lease(self._store, lease, self._agent, result.told, again_in=result.again_in)

    def _renew(self) -> None:
        """Keep the lease of what runs; what another agent has by now is ended."""
        if self._lease is None or time.monotonic() - self._renewed < RENEW_SECONDS:
            return
        self._renewed = time.monotonic()
        if not renew_lease(self._store, self._lease, self._agent, LEASE_SECONDS) and self._busy is not None:
            self._busy.close()
            self._busy = self._lease = None

    def _give_back(self, lease: WorkLease) -> None:
        """Return a lease, so that others can take the work at once; while the store is away they wait for its end."""
        with suppress(StoreUnreachable):
            return_lease(self._store, lease, self._agent)

    # ---- what takes long ----------------------------------------------------------------------

    def _begin_something(self) -> None:
        wanted = self._release_to_install()
        if wanted:
            self._begin_process(INSTALL, wanted, None)
            return
        lease = self._take(SLOW)
        if lease is None:
            return
        self._renewed = time.monotonic()
        if lease.kind is LeaseKind.CONFIRM:
            self._begin_script(lease)
        else:
            self._begin_process(lease.kind.value, lease.item, lease)

    def _release_to_install(self) -> str:
        """A release that another machine has found and this one lacks; empty if there is none."""
        if not self._setting.follow:
            return ""
        with self._store.transaction() as connection:
            known = followed_releases(connection)
        for one in known:
            name = f"{one.distribution}=={one.version}"
            if one.state is not ReleaseState.READY or one.distribution not in self._setting.follow:
                continue
            if time.monotonic() < self._not_before.get(name, 0.0) or has_release(one.distribution, one.version):
                continue
            self._not_before[name] = time.monotonic() + RETRY_SECONDS
            return name
        return ""

    def _begin_process(self, kind: str, item: str, lease: WorkLease | None) -> None:
        url = self._store.url.render_as_string(hide_password=False)
        request = WorkRequest(
            kind, item, url, self._blobs.place, self._agent, str(self._setting.out), str(self._scratch),
            tuple(self._targets), self._setting.timeout,
        )  # fmt: skip
        try:
            self._busy, self._lease = WorkProcess(request), lease
        except UsageError as error:
            if lease is not None:
                self._tell(lease, WorkResult(str(error), failed=True))

    def _begin_script(self, lease: WorkLease) -> None:
        row = next(iter(shared_findings(self._store, signature=lease.item)), None)
        if row is None:
            end_lease(self._store, lease, self._agent, "no such finding any more")
            return
        row = with_bytes(row, self._blobs)
        replay = _Replay(lease, threading.Thread(target=lambda: self._run(replay, row), daemon=True))
        self._busy, self._lease = replay, lease
        replay.thread.start()

    def _run(self, replay: _Replay, row: FindingRow) -> None:
        """Run a finding's script here; what is wrong with it is the result, and costs the agent nothing."""
        folder = self._scratch / "finding"
        told = "irfuzz failed at it"
        try:
            write_bundle(folder, finding_of(row))
            end = run_repro(folder, seconds=SCRIPT_SECONDS, python=_python_of(row.target))
            told = "shows" if end.shows else f"does not show (exit code {end.code})"
        except (IrfuzzError, OSError) as error:
            told = f"cannot be run here: {error}"[:300]
        replay.result = WorkResult(told)
        with suppress(OSError):
            shutil.rmtree(folder)


def _python_of(target: str) -> str:
    """The interpreter in which a target's scripts run."""
    return resolve([target])[0].interpreter or sys.executable
