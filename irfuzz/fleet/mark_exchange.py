"""Tells agents by what the findings of others are recognised, so that each fault is made small and confirmed once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from irfuzz.findings.codec import is_readable
from irfuzz.fleet.agent_registry import AgentAccount
from irfuzz.fleet.fleet_schema import SHARED_FINDING, SHARED_MARK
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.store.database import Database, Status
from irfuzz.store.fault_marks import FaultMark, MarkKind

BATCH = 500
"""Marks that are taken in one transaction."""


def give_marks(
    store: StoreConnection, connection: Connection, account: AgentAccount, marks: Sequence[FaultMark]
) -> None:
    """Store an agent's marks, as a part of a transaction; again is as good as once.

    Args:
        store: of the fleet.
        connection: of the transaction, in which the findings to which the marks lead are there.
        account: of the agent.
        marks: its own; those that another agent has given stay as they are.
    """
    rows = [
        {
            "digest": hashlib.sha256(f"{mark.kind}|{mark.key}".encode()).hexdigest(), "kind": mark.kind.value,
            "key": mark.key, "signature": mark.signature, "agent": account.name,
        }
        for mark in marks
    ]  # fmt: skip
    # Sorted: two agents never wait for each other in a circle.
    store.insert_new(connection, SHARED_MARK, sorted(rows, key=lambda row: row["digest"]))


class MarkIntake:
    """Takes marks of other agents into a campaign's folder, with the findings to which they lead.

    Args:
        store: of the fleet.
        database: of the campaign, which may be running.
        name: of the agent itself.
    """

    def __init__(self, store: StoreConnection, database: Database, name: str) -> None:
        self._store, self._database, self._name = store, database, name

    def take(self, most: int = BATCH) -> bool:
        """Take in the next marks; False if there are no more.

        Those that lead to a finding which is not confirmed in the store are left out: that a job here finds it, too, is
        another try to confirm it. So is what cannot be read: another version of irfuzz may write it otherwise.

        Args:
            most: of them.

        Raises:
            StoreUnreachable: the store is away; nothing was taken then.
        """
        before = self._database.marks.taken_up_to()
        query = select(SHARED_MARK).where(SHARED_MARK.c.number > before).order_by(SHARED_MARK.c.number).limit(most)
        with self._store.transaction() as connection:
            rows = connection.execute(query).all()
            others = [row for row in rows if row.agent != self._name]
            verdicts = _verdicts(connection, sorted({row.signature for row in others}))
        if not rows:
            return False
        marks = [mark for row in others if row.signature in verdicts and (mark := _mark(row)) is not None]
        self._database.marks.take_in(marks, verdicts, int(rows[-1].number))
        return len(rows) == most


def _mark(row: Row[Any]) -> FaultMark | None:
    """A row of the store as a mark; ``None`` if it is none of this version."""
    try:
        mark = FaultMark(MarkKind(row.kind), row.key, row.signature, row.agent)
        mark.check()
    except ValueError:
        return None
    return mark


def _verdicts(connection: Connection, signatures: Sequence[str]) -> dict[str, str]:
    """Verdicts of confirmed findings that can be read, by their signatures."""
    if not signatures:
        return {}
    c = SHARED_FINDING.c
    query = select(c.signature, c.verdict).where(
        c.signature.in_(signatures), c.status == Status.CONFIRMED.value, ~c.suspect
    )
    return {row.signature: row.verdict for row in connection.execute(query) if is_readable(row.verdict)}
