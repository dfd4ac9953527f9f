"""Marks programs of a fleet's store that it can do without (AFL's ``cmin``), and removes them after a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select, update

from irfuzz.campaign.corpus.minimisation import not_needed
from irfuzz.campaign.corpus.testcase import CorpusEntry
from irfuzz.fleet.fleet_schema import AGENT, FLEET_SETTING, SHARED_PROGRAM, store_time
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.fleet.upkeep.work_request import WorkPlace, WorkResult

RETENTION = "retention"
"""Key of the setting: seconds for which a program stays in the store that the distillation has dropped."""

RETENTION_SECONDS = 7 * 86400.0
"""The same if nobody has said."""

TURN = "distillations"
"""Key of the setting that counts them: one that began before another ended marks nothing."""

PAGE = 5000
"""Rows that are read in one transaction: who reads all in one would hold back a busy server's clean-up."""

HOUR = 2
"""When the night's distillation is free to be taken, in hours of UTC by the clock of the database."""

DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Distillation:
    """What became of the store's corpus.

    Attributes:
        before: programs of the store, without those that were dropped earlier.
        after: those of them that together brought every feature; seeds stay.
        features: that those before brought, and those after bring.
        dropped: programs that agents take in no more from now on.
        removed: rows of programs that were dropped long enough ago.
        blobs: that no row named any more, and were removed.
        dry: nothing was changed; ``dropped`` and ``removed`` say what would be.
    """

    before: int
    after: int
    features: int
    dropped: int
    removed: int = 0
    blobs: int = 0
    dry: bool = False

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)

    def __str__(self) -> str:
        """Two lines for people."""
        would = "would be " if self.dry else ""
        return (
            f"{self.before} programs before, {self.after} after, with all of their {self.features} features\n"
            f"{self.dropped} {would}dropped, {self.removed} of earlier ones {would}removed, {self.blobs} blobs removed"
        )


def distil(store: StoreConnection, *, dry: bool = False) -> Distillation:
    """Drop programs of the store that bring nothing which others do not, by the cover of ``irfuzz corpus minimise``.

    What agents give meanwhile is not looked at, and stays. A dropped program stays in the store for a time
    (``remove_dropped``), but no agent takes it in any more.

    Args:
        store: of the fleet.
        dry: only count.

    Raises:
        StoreUnreachable: the store is away, or another distillation ended meanwhile; nothing was changed then.
    """
    turn = _turn(store)
    entries, rows = _entries(store)
    gone, features = not_needed(entries)
    if gone and not dry:
        _drop(store, turn, [rows[number] for number in gone])
    removed = remove_dropped(store, dry=dry)
    return Distillation(len(entries), len(entries) - len(gone), features, len(gone), removed, dry=dry)


def distil_at_night(place: WorkPlace) -> WorkResult:
    """Distil the store once for all agents, and again in the next night.

    Args:
        place: of the work.

    Raises:
        StoreUnreachable: the store is away, or somebody has distilled it by hand meanwhile.
    """
    found = distil(place.store)
    with place.store.transaction() as connection:
        now = float(connection.execute(select(store_time())).scalar_one())
    words = f"{found.before} programs before, {found.after} after, {found.features} features"
    return WorkResult(words, again_in=next_night(now) - now)


def remove_dropped(store: StoreConnection, *, dry: bool = False) -> int:
    """Remove rows of programs that were dropped longer ago than the fleet keeps them; how many there were.

    Their blobs go with the next sweep.

    Args:
        store: of the fleet.
        dry: only count.

    Raises:
        StoreUnreachable: the store is away.
    """
    with store.transaction() as connection:
        old = (SHARED_PROGRAM.c.dropped > 0) & (SHARED_PROGRAM.c.dropped < store_time() - retention(store, connection))
        if dry:
            return connection.execute(select(func.count()).select_from(SHARED_PROGRAM).where(old)).scalar_one()
        return connection.execute(delete(SHARED_PROGRAM).where(old)).rowcount


def retention(store: StoreConnection, connection: Connection) -> float:
    """Seconds for which a dropped program stays in the store.

    Args:
        store: of the fleet.
        connection: of a transaction.
    """
    return float(store.settings(connection).get(RETENTION, RETENTION_SECONDS))


def next_night(now: float) -> float:
    """The next moment at which the hour of distillation begins.

    Args:
        now: seconds since 1970 by the clock of the database; so is the answer, which is later.
    """
    start = HOUR * 3600.0
    return ((now - start) // DAY + 1) * DAY + start


def _turn(store: StoreConnection) -> str:
    with store.transaction() as connection:
        return store.settings(connection).get(TURN, "0")


def _entries(store: StoreConnection) -> tuple[list[CorpusEntry], list[tuple[str, int]]]:
    """Programs that are not dropped, numbered from 0, and the agent and number of each row."""
    entries: list[CorpusEntry] = []
    rows: list[tuple[str, int]] = []
    names = ("agent", "sequence", "digest", "seed", "parent", "features", "nodes", "cost", "keys")
    columns = [SHARED_PROGRAM.c[name] for name in names]
    with store.transaction() as connection:
        agents = connection.execute(select(AGENT.c.name).order_by(AGENT.c.name)).scalars().all()
    for agent in agents:
        last, page = 0, PAGE
        while page == PAGE:
            query = select(*columns).where(
                SHARED_PROGRAM.c.agent == agent, SHARED_PROGRAM.c.sequence > last, SHARED_PROGRAM.c.dropped == 0
            )
            with store.transaction() as connection:
                found = connection.execute(query.order_by(SHARED_PROGRAM.c.sequence).limit(PAGE)).all()
            for row in found:
                number = len(rows)
                rows.append((row.agent, row.sequence))
                entries.append(
                    CorpusEntry(
                        row.digest, row.seed, row.features, row.nodes, number=number, original=not row.parent,
                        cost=row.cost, keys=bytes(row.keys),
                    )
                )  # fmt: skip
            page, last = len(found), found[-1].sequence if found else last
    return entries, rows


def _drop(store: StoreConnection, turn: str, rows: Sequence[tuple[str, int]]) -> None:
    """Mark programs, unless another distillation has marked some since this one began to read.

    Raises:
        StoreUnreachable: it has. Each may have dropped what the other relies on, so this one is to begin again.
    """
    with store.transaction() as connection:
        connection.execute(store.insert(FLEET_SETTING).values(key=TURN, value="0").on_conflict_do_nothing())
        query = select(FLEET_SETTING.c.value).where(FLEET_SETTING.c.key == TURN).with_for_update()
        if connection.execute(query).scalar_one() != turn:
            raise StoreUnreachable(f"--store {store.name}: another distillation ended meanwhile; try again")
        now = float(connection.execute(select(store_time())).scalar_one())
        key = (SHARED_PROGRAM.c.agent == bindparam("of")) & (SHARED_PROGRAM.c.sequence == bindparam("place"))
        values = [{"of": agent, "place": sequence} for agent, sequence in rows]
        connection.execute(update(SHARED_PROGRAM).where(key).values(dropped=now), values)
        store.set(connection, {TURN: str(int(turn) + 1)})
