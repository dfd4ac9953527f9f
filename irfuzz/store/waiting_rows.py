"""Keeps disagreements from the moment when they are seen until somebody has looked into them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, func, literal, select, update
from sqlalchemy.dialects.sqlite import insert

from irfuzz.errors import InternalError
from irfuzz.store.database_schema import WAITING

JOBS = 1 << 12
"""Numbers of cases that different jobs saw differ by their remainder."""

_LARGE = frozenset({"trace", "model", "inputs", "answers"})


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A disagreement that waits; see ``database_schema.WAITING``."""

    number: int
    owner: int
    job: int
    iteration: int
    symptom: str
    target: str
    suspect: bool
    words: str
    operators: str
    size: int
    again: bool
    doubted: int
    strikes: int
    about: str
    trace: bytes
    model: bytes
    inputs: bytes
    answers: bytes


class WaitingRows:
    """The cases that wait in a campaign's database. Every method is one transaction, but for ``add`` and ``let_go``.

    Args:
        transaction: of the database.
        read: makes a row of values, or raises ``UsageError`` if they are not what their columns say.
    """

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[Connection]],
        read: Callable[[type[WaitingRow], Sequence[Any]], WaitingRow],
    ) -> None:
        self._transaction = transaction
        self._read = read
        self._new: dict[int, WaitingRow] = {}
        self._gone: list[int] = []

    def add(self, row: WaitingRow) -> None:
        """Let a case wait; it is stored with the next ``Database.record``, which says how far its job has come."""
        self._new[row.number] = row

    def let_go(self, number: int) -> None:
        """Let a case wait no more from the next ``Database.record`` on, for a better one of its like waits."""
        if self._new.pop(number, None) is None:
            self._gone.append(number)

    def store(self, connection: Connection) -> None:
        """Store what was added and let go, as a part of a transaction; ``stored`` is called once that is through."""
        if self._gone:
            connection.execute(delete(WAITING).where(WAITING.c.number.in_(self._gone)))
        for row in self._new.values():
            values = {name: getattr(row, name) for name in WaitingRow.__slots__}
            connection.execute(insert(WAITING).values(**values, seen=time.time()))

    def stored(self) -> None:
        """Forget what ``store`` has stored."""
        self._new, self._gone = {}, []

    def of(self, owner: int) -> list[WaitingRow]:
        """The cases of a job in the order of their numbers, without programs, inputs, answers and traces.

        Args:
            owner: number of the job that is to look into them.
        """
        columns = [literal(b"").label(n) if n in _LARGE else WAITING.c[n] for n in WaitingRow.__slots__]
        query = select(*columns).where(WAITING.c.owner == owner).order_by(WAITING.c.number)
        with self._transaction() as connection:
            rows = connection.execute(query).all()
        return [self._read(WaitingRow, row) for row in rows]

    def whole(self, number: int) -> WaitingRow:
        """A case with its program, inputs, answers and trace.

        Args:
            number: of it.

        Raises:
            InternalError: there is none.
        """
        if number in self._new:
            return self._new[number]
        query = select(*(WAITING.c[n] for n in WaitingRow.__slots__)).where(WAITING.c.number == number)
        with self._transaction() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise InternalError(f"no case {number} waits for triage")
        return self._read(WaitingRow, row)

    def model(self, number: int) -> bytes | None:
        """The program of a case, as it is stored; ``None`` if there is no case of that number."""
        with self._transaction() as connection:
            return connection.execute(select(WAITING.c.model).where(WAITING.c.number == number)).scalar_one_or_none()

    def words(self, number: int) -> str:
        """What a case is about: symptom and target; empty if there is no case of that number."""
        query = select(WAITING.c.symptom, WAITING.c.target).where(WAITING.c.number == number)
        with self._transaction() as connection:
            row = connection.execute(query).one_or_none()
        return "" if row is None else f"{row.symptom} of {row.target}"

    def first_number(self, job: int) -> int:
        """A number behind all those of cases that a job has seen and that still wait; the next ones are ``JOBS`` apart.

        Args:
            job: from 0, less than ``JOBS``.
        """
        query = select(func.max(WAITING.c.number)).where(WAITING.c.job == job)
        with self._transaction() as connection:
            last = connection.execute(query).scalar_one()
        return JOBS + job if last is None else last + JOBS

    def count(self) -> int:
        """How many wait in all queues that no known fault explains, without suspects."""
        query = select(func.count()).select_from(WAITING).where(~WAITING.c.again, ~WAITING.c.suspect)
        with self._transaction() as connection:
            return connection.execute(query).scalar_one()

    def forget(self, number: int) -> None:
        """Let a case wait no more at once; nothing happens if there is none of that number."""
        if self._new.pop(number, None) is not None:
            return
        with self._transaction() as connection:
            connection.execute(delete(WAITING).where(WAITING.c.number == number))

    def change(self, number: int, *, again: bool, doubted: int) -> None:
        """Store what was learnt of a case that goes on waiting.

        Args:
            number: of it.
            again: a known fault explains it.
            doubted: number of the finding as which it is kept until it is proven; 0 for none.
        """
        if number in self._new:
            self._new[number] = replace(self._new[number], again=again, doubted=doubted)
            return
        with self._transaction() as connection:
            statement = update(WAITING).where(WAITING.c.number == number)
            connection.execute(statement.values(again=again, doubted=doubted))

    def strike(self, number: int) -> None:
        """Count that whoever looked into a case failed or died; nothing happens if there is none of that number."""
        with self._transaction() as connection:
            statement = update(WAITING).where(WAITING.c.number == number)
            connection.execute(statement.values(strikes=WAITING.c.strikes + 1))

    def share_out(self, jobs: int) -> None:
        """Give the cases of jobs that there are no more to others.

        Args:
            jobs: how many there are from now on; their numbers are 0 and so on.
        """
        with self._transaction() as connection:
            statement = update(WAITING).where(WAITING.c.owner >= jobs)
            connection.execute(statement.values(owner=WAITING.c.owner % jobs))
