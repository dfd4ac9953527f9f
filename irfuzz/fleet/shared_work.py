"""What an agent does for all of its fleet between two synchronisations: it runs scripts of others, and sweeps blobs."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from irfuzz.errors import IrfuzzError
from irfuzz.findings.codec import finding_of
from irfuzz.fleet.blob_sweep import sweep_blobs
from irfuzz.fleet.finding_exchange import shared_findings, with_bytes
from irfuzz.fleet.lease_table import LeaseKind, WorkLease, end_lease, offer, take_lease
from irfuzz.fleet.shared_blobs import GRACE, SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.script_replay import run_repro
from irfuzz.store.database import FindingRow, Status

SCRIPT_SECONDS = 120.0
"""What the script of a finding may take on another machine."""

END_SECONDS = 10.0
"""What is left of that when the agent ends."""

LEASE_SECONDS = 300.0
"""How long work is an agent's own, unless the agent is forgotten before."""

BLOBS = "blobs"
"""The only item of ``LeaseKind.SWEEP``."""


@dataclass(slots=True)
class _Replay:
    lease: WorkLease
    thread: threading.Thread
    words: str = ""


class SharedWork:
    """One agent's part of the work that is there once for all.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        agent: its name.
        targets: names of what it runs.
        scratch: folder for findings of others, which is removed again.
    """

    def __init__(
        self, store: StoreConnection, blobs: SharedBlobs, agent: str, targets: Sequence[str], scratch: Path
    ) -> None:
        self._store, self._blobs, self._agent, self._targets, self._scratch = (
            store,
            blobs,
            agent,
            list(targets),
            scratch,
        )
        self._replay: _Replay | None = None
        self._offered = False

    def offer(self, connection: Connection, findings: Sequence[FindingRow]) -> None:
        """Offer the scripts of findings to other agents, as a part of a transaction, and the sweep of blobs to all.

        Args:
            connection: of the transaction.
            findings: that the store just got of this agent.
        """
        for row in findings:
            if row.status == Status.CONFIRMED and not row.suspect:
                offer(
                    self._store, connection, LeaseKind.CONFIRM, row.signature, needs=row.target, maker=self._agent
                )  # fmt: skip
        if not self._offered:
            offer(self._store, connection, LeaseKind.SWEEP, BLOBS)
            self._offered = True

    def go_on(self) -> None:
        """Take what is free and this agent can do, and tell what is done.

        Raises:
            StoreUnreachable: the store or the blobs are away.
        """
        sweep = take_lease(self._store, LeaseKind.SWEEP, self._agent, self._targets, LEASE_SECONDS)
        if sweep is not None:
            removed = sweep_blobs(self._store, self._blobs)
            end_lease(self._store, sweep, self._agent, f"{removed} removed", again_in=GRACE)
        if self._replay is None:
            lease = take_lease(self._store, LeaseKind.CONFIRM, self._agent, self._targets, LEASE_SECONDS)
            if lease is not None:
                self._begin(lease)
        elif not self._replay.thread.is_alive():
            end_lease(self._store, self._replay.lease, self._agent, self._replay.words)
            self._replay = None

    def close(self) -> None:
        """Wait for a script that runs, but not for long, and remove its folder.

        One that takes longer ends with this process, and is free for others once its lease is over.
        """
        if self._replay is not None:
            self._replay.thread.join(END_SECONDS)
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _begin(self, lease: WorkLease) -> None:
        row = next((row for row in shared_findings(self._store) if row.signature == lease.item), None)
        if row is None:
            end_lease(self._store, lease, self._agent, "no such finding any more")
            return
        row = with_bytes(row, self._blobs)
        replay = _Replay(lease, threading.Thread(target=lambda: self._run(replay, row), daemon=True))
        self._replay = replay
        replay.thread.start()

    def _run(self, replay: _Replay, row: FindingRow) -> None:
        """Run a finding's script here; what is wrong with it is the result, and costs the agent nothing."""
        folder = self._scratch / "finding"
        replay.words = "irfuzz failed at it"
        try:
            write_bundle(folder, finding_of(row))
            end = run_repro(folder, seconds=SCRIPT_SECONDS)
            replay.words = "shows" if end.shows else f"does not show (exit code {end.code})"
        except (IrfuzzError, OSError) as error:
            replay.words = f"cannot be run here: {error}"[:300]
        with suppress(OSError):
            shutil.rmtree(folder)
