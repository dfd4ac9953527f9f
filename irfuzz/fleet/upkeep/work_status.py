"""What a fleet's status tells of releases that are followed, and of what was done last of each kind of shared work."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from irfuzz.fleet.fleet_schema import LEASE, SHARED_PROGRAM
from irfuzz.fleet.lease_table import MOST_ATTEMPTS, LeaseKind
from irfuzz.fleet.upkeep.finding_upkeep import recheck_of
from irfuzz.fleet.upkeep.release_following import ReleaseState, followed_releases, replay_of

FAILED = 5
"""Lines about work that failed; the JSON has all of them."""


@dataclass(frozen=True, slots=True)
class ReleaseStatus:
    """A release that the fleet follows.

    Attributes:
        distribution: as pip calls it.
        version: of it.
        state: how far it is followed (``ReleaseState``).
        told: why it cannot be installed; empty if it can.
        rechecked: findings that were run on it, and how many are to be.
        replayed: parts of the corpus that were, and how many are to be.
    """

    distribution: str
    version: str
    state: str
    told: str
    rechecked: tuple[int, int]
    replayed: tuple[int, int]

    def __str__(self) -> str:
        """One line for people."""
        name = f"{self.distribution} {self.version}"
        if self.state == ReleaseState.BASE:
            return f"{name}: followed from here on"
        if self.state == ReleaseState.READY:
            findings, parts = ("{} of {}".format(*pair) for pair in (self.rechecked, self.replayed))
            return f"{name}: {findings} findings re-checked, {parts} parts of the corpus replayed"
        return f"{name}: {'being installed' if self.state == ReleaseState.FOUND else 'cannot be used: ' + self.told}"


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """Shared work that is not counted by kind alone.

    Attributes:
        releases: that are followed, oldest first.
        dropped: programs that the distillation has dropped and that are still in the store.
        last: what was said last of kinds that there are once for all: ``distil``, ``sweep`` and ``follow``.
        failed: work at which agents have died or failed, a line each with why; it is tried again unless given up.
    """

    releases: list[ReleaseStatus]
    dropped: int
    last: dict[str, str]
    failed: list[str]

    def lines(self) -> list[str]:
        """Lines for people; none if there is nothing to tell."""
        told = [f"{kind}, last: {words}" for kind, words in self.last.items() if words]
        dropped = [f"{self.dropped} programs dropped by the distillation, not removed yet"] if self.dropped else []
        shown = self.failed[:FAILED] + ([f"and {len(self.failed) - FAILED} more"] if len(self.failed) > FAILED else [])
        return [*dropped, *told, *map(str, self.releases), *(f"failed: {line}" for line in shown)]


def work_status(connection: Connection) -> WorkStatus:
    """What the store knows of it.

    Args:
        connection: of a transaction.
    """
    query = select(func.count()).select_from(SHARED_PROGRAM).where(SHARED_PROGRAM.c.dropped > 0)
    once = (LeaseKind.DISTIL.value, LeaseKind.SWEEP.value, LeaseKind.FOLLOW.value)
    columns = (LEASE.c.kind, LEASE.c.item, LEASE.c.result)
    rows = connection.execute(select(*columns).where(LEASE.c.kind.in_(once)).order_by(LEASE.c.kind, LEASE.c.item))
    last = {row.kind if row.kind != LeaseKind.FOLLOW else f"follow {row.item}": row.result for row in rows}
    return WorkStatus(_releases(connection), connection.execute(query).scalar_one(), last, _failed(connection))


def _failed(connection: Connection) -> list[str]:
    """Work that nobody has done yet and that somebody has tried, in order; work that is done has no attempts left."""
    columns = (LEASE.c.kind, LEASE.c.item, LEASE.c.result, LEASE.c.attempts)
    tried = (LEASE.c.attempts > 0) & (LEASE.c.agent == "")
    rows = connection.execute(select(*columns).where(tried).order_by(LEASE.c.kind, LEASE.c.item)).all()
    return [
        f"{row.kind} {row.item}: {row.result or 'its agent died'}"
        + (", given up" if row.attempts >= MOST_ATTEMPTS else ", to be tried again")
        for row in rows
    ]


def _releases(connection: Connection) -> list[ReleaseStatus]:
    done: Counter[tuple[str, str, str]] = Counter()
    every: Counter[tuple[str, str, str]] = Counter()
    kinds = (LeaseKind.RECHECK.value, LeaseKind.REPLAY.value)
    for row in connection.execute(select(LEASE.c.kind, LEASE.c.item, LEASE.c.done).where(LEASE.c.kind.in_(kinds))):
        distribution, version = (recheck_of if row.kind == LeaseKind.RECHECK else replay_of)(row.item)[:2]
        every[row.kind, distribution, version] += 1
        done[row.kind, distribution, version] += row.done
    found: list[ReleaseStatus] = []
    for one in followed_releases(connection):
        pairs = [(done[key], every[key]) for key in ((kind, one.distribution, one.version) for kind in kinds)]
        found.append(ReleaseStatus(one.distribution, one.version, one.state.value, one.told, *pairs))
    return found
