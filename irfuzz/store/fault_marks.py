"""Keeps by what faults that were looked into are recognised, and the findings of other agents of a fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects.sqlite import insert

from irfuzz.errors import UsageError
from irfuzz.store.database_schema import ELSEWHERE, FAULT_MARK, FINDING, SETTING

CONFIRMED = "confirmed"
"""Status of the findings to which marks may lead (``database.Status``)."""


TAKEN_UP_TO = "marks taken up to"
"""Key of the setting with the number up to which the marks of a fleet were looked at."""


class MarkKind(StrEnum):
    """What is the same of two disagreements that show one fault, mostly."""

    SIGNATURE = "signature"
    """The key is a signature as it is seen; that under which the finding is stored may be another."""
    OPERATORS = "operators"
    """The key is symptom, target, what a rejection said, and operators of the small program, as JSON."""
    GROUP = "group"
    """The key is a group of suspects, of which one was looked into; it leads to no finding."""


@dataclass(frozen=True, slots=True)
class FaultMark:
    """By what a fault is recognised before its case is made small.

    Attributes:
        kind: of the key.
        key: text that a disagreement must have in common with it.
        signature: of the finding that the mark leads to; empty for a group.
        source: agent of a fleet that found out; empty for a job of this campaign.
        number: order in which marks came to this campaign; 0 for a new one.
    """

    kind: MarkKind
    key: str
    signature: str = ""
    source: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class SeenElsewhere:
    """A finding of another agent that this campaign has seen, too.

    Attributes:
        number: of its row here, among those of other agents alone.
        signature: of it.
        times: seen here.
    """

    number: int
    signature: str
    times: int


class FaultMarks:
    """Marks in a campaign's database. Every method is one transaction.

    Args:
        transaction: of the database.
        damaged: the error to raise for a row that holds what its columns do not say, made of a reason.
    """

    def __init__(
        self, transaction: Callable[[], AbstractContextManager[Connection]], damaged: Callable[[str], UsageError]
    ) -> None:
        self._transaction, self._damaged = transaction, damaged

    def add(self, marks: Iterable[FaultMark]) -> None:
        """Store marks of this campaign's own; what leads to a finding that is not stored or not confirmed is left out.

        So a kill before the finding is stored lets the next job look into its case once more.

        Args:
            marks: those that are known stay as they are.
        """
        with self._transaction() as connection:
            _add(connection, marks)

    def after(self, number: int) -> list[FaultMark]:
        """Marks with a higher number, in their order; 0 for all."""
        query = select(FAULT_MARK).where(FAULT_MARK.c.number > number).order_by(FAULT_MARK.c.number)
        with self._transaction() as connection:
            return list(map(self._mark, connection.execute(query)))

    def own(self, number: int, most: int = 500) -> list[FaultMark]:
        """The oldest marks of this campaign's jobs with a higher number that lead to findings, in their order.

        Args:
            number: of a mark; 0 for the first ones.
            most: of them.
        """
        c = FAULT_MARK.c
        query = select(FAULT_MARK).where(c.number > number, c.source == "", c.signature != "")
        with self._transaction() as connection:
            return list(map(self._mark, connection.execute(query.order_by(c.number).limit(most))))

    def taken_up_to(self) -> int:
        """The number up to which the marks of a fleet were looked at; 0 if none were."""
        query = select(SETTING.c.value).where(SETTING.c.key == TAKEN_UP_TO)
        with self._transaction() as connection:
            return int(connection.execute(query).scalar_one_or_none() or 0)

    def take_in(self, marks: Sequence[FaultMark], verdicts: Mapping[str, str], number: int) -> None:
        """Store marks of other agents with the findings to which they lead, and how far they were looked at, all or
        nothing.

        Args:
            marks: those that are known stay as they are.
            verdicts: JSON, of findings by their signatures; those that this campaign has itself are left out.
            number: as ``taken_up_to`` gives it from then on.
        """
        with self._transaction() as connection:
            own = select(FINDING.c.signature).where(FINDING.c.signature.in_(list(verdicts)))
            here = set(connection.execute(own).scalars()) if verdicts else set()
            for signature, verdict in verdicts.items():
                if signature not in here:
                    values = {"signature": signature, "verdict": verdict, "times": 0}
                    connection.execute(insert(ELSEWHERE).values(**values).on_conflict_do_nothing())
            _add(connection, marks)
            statement = insert(SETTING).values(key=TAKEN_UP_TO, value=str(number))
            connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": str(number)}))

    def seen_elsewhere(self) -> list[SeenElsewhere]:
        """Findings of other agents that this campaign has seen, too."""
        c = ELSEWHERE.c
        query = select(c.number, c.signature, c.times).where(c.times > 0).order_by(c.number)
        with self._transaction() as connection:
            return [SeenElsewhere(*row) for row in connection.execute(query)]

    def _mark(self, row: Sequence[object]) -> FaultMark:
        number, kind, *texts = row
        if not isinstance(number, int) or kind not in set(MarkKind) or not all(isinstance(t, str) for t in texts):
            raise self._damaged(
                f"fault mark {number!r}: expected one of {', '.join(MarkKind)} and texts, got {row!s:.80}"
            )
        key, signature, source = map(str, texts)
        return FaultMark(MarkKind(str(kind)), key, signature, source, number)


def count_elsewhere(connection: Connection, signature: str) -> bool:
    """Count a finding of another agent once more, as a part of a transaction; False if there is none."""
    statement = update(ELSEWHERE).where(ELSEWHERE.c.signature == signature)
    return connection.execute(statement.values(times=ELSEWHERE.c.times + 1)).rowcount > 0


def _add(connection: Connection, marks: Iterable[FaultMark]) -> None:
    stored: dict[str, bool] = {"": True}
    for mark in marks:
        if mark.signature not in stored:
            stored[mark.signature] = _is_confirmed(connection, mark.signature)
        if stored[mark.signature]:
            values = {"kind": mark.kind.value, "key": mark.key, "signature": mark.signature, "source": mark.source}
            connection.execute(insert(FAULT_MARK).values(**values).on_conflict_do_nothing())


def _is_confirmed(connection: Connection, signature: str) -> bool:
    own = (FINDING.c.signature == signature) & (FINDING.c.status == CONFIRMED) & ~FINDING.c.suspect
    queries = select(func.count()).where(own), select(func.count()).where(ELSEWHERE.c.signature == signature)
    return any(connection.execute(query).scalar_one() for query in queries)
