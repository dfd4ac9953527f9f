"""Work that one agent does for all of a fleet: offered, taken for a time, done, or free again if its agent dies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, and_, case, or_, select, update

from irfuzz.fleet.fleet_schema import LEASE, store_time
from irfuzz.fleet.store_connection import StoreConnection

MOST_ATTEMPTS = 3
"""Work at which so many agents have died or failed is left alone."""


class LeaseKind(StrEnum):
    """Kinds of such work."""

    CONFIRM = "confirm"
    """Run the script of a finding on another machine than the one that found it."""
    SWEEP = "sweep"
    """Remove programs that were dropped long ago, and blobs that no row names."""
    DISTIL = "distil"
    """Drop programs of the store that bring nothing which others do not; once a night."""
    REDUCE = "reduce"
    """Continue the reduction of a finding that was cut short."""
    VERSIONS = "versions"
    """Find the releases in which a finding came and went, of those that the machine has."""
    RECHECK = "re-check"
    """Run a finding on a release that came out after it was found."""
    REPLAY = "replay"
    """Run a part of the corpus on a new release and the one before it."""
    FOLLOW = "follow"
    """Ask the package index for new releases, and make environments of them."""


@dataclass(frozen=True, slots=True)
class WorkLease:
    """Work that an agent has taken.

    Attributes:
        kind: of it.
        item: what it is about, such as the signature of a finding.
        attempts: how often it was taken, this time included.
    """

    kind: LeaseKind
    item: str
    attempts: int


def offer(
    store: StoreConnection, connection: Connection, kind: LeaseKind, item: str, *, needs: str = "", maker: str = "",
    since: float = 0.0,
) -> None:  # fmt: skip
    """Offer work, as a part of a transaction; nothing happens if it was offered before.

    Args:
        store: of the fleet.
        connection: of the transaction.
        kind: of it.
        item: what it is about.
        needs: target that an agent must run to do it, or another of its ``abilities``; empty for none.
        maker: agent that is not to do it; empty for none.
        since: when it is free for the first time, in seconds since 1970 by the clock of the database.
    """
    values = {
        "kind": kind.value, "item": item, "needs": needs, "maker": maker, "agent": "", "until": since, "attempts": 0,
        "done": False, "result": "",
    }  # fmt: skip
    connection.execute(store.insert(LEASE).values(**values).on_conflict_do_nothing())


def take_lease(
    store: StoreConnection, kind: LeaseKind, agent: str, targets: list[str], seconds: float
) -> WorkLease | None:
    """Take work that is free, or whose agent has not been heard of for the time of its lease.

    Rows that another agent is about to take are skipped (PostgreSQL), or waited for (SQLite).

    Args:
        store: of the fleet.
        kind: of the work.
        agent: that takes it.
        targets: that it runs, and its other abilities.
        seconds: after which it is free again, by the clock of the database.

    Returns:
        ``None`` if there is none for this agent.
    """
    return take_first(store, [kind], agent, targets, seconds)


def take_first(
    store: StoreConnection, kinds: Sequence[LeaseKind], agent: str, targets: list[str], seconds: float
) -> WorkLease | None:
    """Take work of the first of several kinds of which there is some, by one question to the store.

    Args:
        store: of the fleet.
        kinds: in the order in which they are wanted; at least one.
        agent: that takes it.
        targets: that it runs, and its other abilities.
        seconds: after which it is free again, by the clock of the database.

    Returns:
        ``None`` if there is none for this agent.
    """
    now = store_time()
    order = case({kind.value: place for place, kind in enumerate(kinds)}, value=LEASE.c.kind)
    free = and_(
        LEASE.c.kind.in_([kind.value for kind in kinds]), ~LEASE.c.done,
        LEASE.c.until < now, LEASE.c.attempts < MOST_ATTEMPTS,
        LEASE.c.maker != agent, or_(LEASE.c.needs == "", LEASE.c.needs.in_(targets)),
    )  # fmt: skip
    query = select(LEASE.c.kind, LEASE.c.item, LEASE.c.attempts).where(free)
    query = query.order_by(order, LEASE.c.attempts, LEASE.c.item)
    with store.transaction() as connection:
        row = connection.execute(query.limit(1).with_for_update(skip_locked=True)).one_or_none()
        if row is None:
            return None
        held = update(LEASE).where(LEASE.c.kind == row.kind, LEASE.c.item == row.item)
        connection.execute(held.values(agent=agent, until=now + seconds, attempts=row.attempts + 1))
        return WorkLease(LeaseKind(row.kind), row.item, row.attempts + 1)


def end_lease(
    store: StoreConnection, lease: WorkLease, agent: str, result: str, *, again_in: float | None = None
) -> bool:
    """Say that work is done; False if another agent has it by now, whose result counts then.

    Args:
        store: of the fleet.
        lease: of it.
        agent: that had taken it.
        result: a few words.
        again_in: seconds after which it is free to be done again; ``None``: never.
    """
    mine = update(LEASE).where(LEASE.c.kind == lease.kind.value, LEASE.c.item == lease.item, LEASE.c.agent == agent)
    again = {"done": again_in is None, "until": 0.0 if again_in is None else store_time() + again_in}
    with store.transaction() as connection:
        return connection.execute(mine.values(agent="", result=result, attempts=0, **again)).rowcount == 1


def renew_lease(store: StoreConnection, lease: WorkLease, agent: str, seconds: float) -> bool:
    """Keep work for longer; False if another agent has it by now, or nobody.

    Args:
        store: of the fleet.
        lease: of the work.
        agent: that had taken it.
        seconds: after which it is free again, by the clock of the database.
    """
    mine = update(LEASE).where(LEASE.c.kind == lease.kind.value, LEASE.c.item == lease.item, LEASE.c.agent == agent)
    with store.transaction() as connection:
        return connection.execute(mine.values(until=store_time() + seconds)).rowcount == 1


def fail_lease(store: StoreConnection, lease: WorkLease, agent: str, why: str, *, again_in: float) -> bool:
    """Say that work has failed; False if another agent has it by now. ``MOST_ATTEMPTS`` times that it did is the end.

    Args:
        store: of the fleet.
        lease: of the work.
        agent: that had taken it.
        why: one line.
        again_in: seconds after which it is free again.
    """
    mine = update(LEASE).where(LEASE.c.kind == lease.kind.value, LEASE.c.item == lease.item, LEASE.c.agent == agent)
    ended = lease.attempts >= MOST_ATTEMPTS
    with store.transaction() as connection:
        values = {"agent": "", "result": why, "done": ended, "until": store_time() + again_in}
        return connection.execute(mine.values(**values)).rowcount == 1


def return_lease(store: StoreConnection, lease: WorkLease, agent: str) -> bool:
    """Let others have work at once, as if it had not been taken; False if another agent has it by now.

    Args:
        store: of the fleet.
        lease: of the work.
        agent: that had taken it.
    """
    mine = update(LEASE).where(LEASE.c.kind == lease.kind.value, LEASE.c.item == lease.item, LEASE.c.agent == agent)
    with store.transaction() as connection:
        return connection.execute(mine.values(agent="", until=0.0, attempts=lease.attempts - 1)).rowcount == 1
