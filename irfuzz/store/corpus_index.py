"""What jobs know of the programs of a corpus without reading them, and how a program leaves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.sqlite import insert

from irfuzz.errors import UsageError
from irfuzz.store.database_schema import ENTRY, LEAVING, PROGRAM, SETTING

SEEN = "corpus turn of job "
"""Key of the setting in which a job says how much it knows of what leaves, before its number."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A program as those know it that choose parents; see ``schema.ENTRY``."""

    number: int
    digest: str
    seed: str
    original: bool
    features: int
    nodes: int
    cost: int
    keys: bytes


_COLUMNS = [ENTRY.c[name] for name in IndexRow.__slots__]
_KINDS = (int, str, str, bool, int, int, int, bytes)


class CorpusIndex:
    """The index of one database; each method is one transaction.

    A program that leaves is gone for whoever asks afterwards. Its row stays until every job has asked: it may be the
    parent of what a job is making.

    Args:
        transaction: of the database.
        damaged: makes an error of what is wrong with a row.
    """

    def __init__(
        self, transaction: Callable[[], AbstractContextManager[Connection]], damaged: Callable[[str], UsageError]
    ) -> None:
        self._transaction = transaction
        self._damaged = damaged

    def add(self, rows: Iterable[IndexRow]) -> None:
        """Let programs be known; one that is known already stays as it is.

        Args:
            rows: of programs that the database has.
        """
        with self._transaction() as connection:
            add_entries(connection, rows)

    def after(self, number: int, most: int = 1 << 40) -> list[IndexRow]:
        """Known programs with a higher number, in their order, without those that leave.

        Args:
            number: of a program; 0 for all.
            most: of them; fewer are returned only if there are no more.

        Raises:
            UsageError: a row is damaged.
        """
        query = select(*_COLUMNS).where(ENTRY.c.number > number, ENTRY.c.number.not_in(select(LEAVING.c.number)))
        with self._transaction() as connection:
            found = connection.execute(query.order_by(ENTRY.c.number).limit(most)).all()
        for row in found:
            if tuple(map(type, row)) != _KINDS or len(row.keys) % 8:
                raise self._damaged(
                    f"entry {row[0]!r}: expected {', '.join(k.__name__ for k in _KINDS)}, got {row!s:.80}"
                )
        return [IndexRow(*row) for row in found]

    def unknown(self) -> list[int]:
        """Numbers of programs that are not known: seeds that no job has read, and what older versions stored."""
        with self._transaction() as connection:
            programs, known = (
                connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (PROGRAM, ENTRY)
            )
            if programs == known:  # counted in an index, where the next question reads all programs
                return []
            query = select(PROGRAM.c.number).where(PROGRAM.c.number.not_in(select(ENTRY.c.number)))
            return [row.number for row in connection.execute(query.order_by(PROGRAM.c.number))]

    def leave(self, numbers: Sequence[int], job: int, jobs: int) -> list[int]:
        """Let programs leave.

        Args:
            numbers: of them, in the view of a job.
            job: its number. It uses none of them any more, nor any that this returns.
            jobs: how many there are.

        Returns:
            Numbers of all programs that leave, as far as their rows are still there.
        """
        with self._transaction() as connection:
            if numbers:
                values = [{"number": number} for number in numbers]
                connection.execute(insert(LEAVING).on_conflict_do_nothing(), values)
            rows = connection.execute(select(LEAVING.c.turn, LEAVING.c.number)).all()
            turn = str(max((row.turn for row in rows), default=0))
            statement = insert(SETTING).values(key=f"{SEEN}{job}", value=turn)
            connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": turn}))
            keys = [f"{SEEN}{number}" for number in range(jobs)]
            seen = connection.execute(select(SETTING.c.value).where(SETTING.c.key.in_(keys))).scalars().all()
            known = min(map(int, seen)) if len(seen) == jobs else 0
            _remove(connection, known)
        return [row.number for row in rows]

    def sweep(self) -> None:
        """Remove the rows of all programs that leave; no job may be running."""
        with self._transaction() as connection:
            _remove(connection, 1 << 62)
            connection.execute(delete(SETTING).where(SETTING.c.key.startswith(SEEN)))


def add_entries(connection: Connection, rows: Iterable[IndexRow]) -> None:
    """Let programs be known, within a transaction."""
    values = [{name: getattr(row, name) for name in IndexRow.__slots__} for row in rows]
    if values:
        connection.execute(insert(ENTRY).on_conflict_do_nothing(), values)


def _remove(connection: Connection, turn: int) -> None:
    """Remove rows of what leaves up to a turn, but never the last of a table: its number would be given again."""
    last = select(func.max(LEAVING.c.turn)).scalar_subquery()
    numbers = select(LEAVING.c.number).where(LEAVING.c.turn <= turn)
    newest = connection.execute(select(func.max(PROGRAM.c.number))).scalar_one()
    for table in (PROGRAM, ENTRY):
        connection.execute(delete(table).where(table.c.number.in_(numbers), table.c.number != newest))
    connection.execute(
        delete(LEAVING).where(LEAVING.c.turn <= turn, LEAVING.c.turn != last, LEAVING.c.number != newest)
    )
