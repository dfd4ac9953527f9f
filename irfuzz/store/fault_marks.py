"""Keeps by what faults that were looked into are recognised, and the findings of other agents of a fleet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, delete, func, select, update
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
    """The key is an ``OperatorsKey`` as text."""
    GROUP = "group"
    """The key is a group of suspects, of which one was looked into; it leads to no finding."""


@dataclass(frozen=True, slots=True)
class OperatorsKey:
    """What a finding was seen as, and of which operators its small program is.

    Attributes:
        symptom: of the case before it was made small, as are the next two.
        target: that was wrong.
        words: what a rejection said, normalised; empty for other symptoms.
        operators: of the small program.
        identity: of the target, in the version in which it ran; empty if that is not known.
    """

    symptom: str
    target: str
    words: str
    operators: frozenset[str]
    identity: str = ""

    def to_text(self) -> str:
        """Equal for equal keys."""
        return json.dumps([self.symptom, self.target, self.words, sorted(self.operators), self.identity])

    @classmethod
    def from_text(cls, text: str) -> OperatorsKey:
        """The inverse of ``to_text``.

        Raises:
            ValueError: it is none.
        """
        try:
            read = json.loads(text)
        except RecursionError:
            read = None
        match read:
            case [str(symptom), str(target), str(words), [*operators], str(identity)] if _are_texts(operators):
                return cls(symptom, target, words, frozenset(operators), identity)
            case _:
                raise ValueError(f"expected symptom, target, words, operators and identity, got {text!s:.80}")


def _are_texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)


@dataclass(frozen=True, slots=True)
class FaultMark:
    """By what a fault is recognised before its case is made small.

    Attributes:
        kind: of the key.
        key: text that a disagreement must have in common with it.
        signature: of the finding that the mark leads to; empty for a group.
        source: agent of a fleet that found out; empty for a job of this campaign.
        times: that jobs here took a disagreement for what it leads to, and did not look into it unless it had a turn.
        number: order in which marks came to this campaign; 0 for a new one.
    """

    kind: MarkKind
    key: str
    signature: str = ""
    source: str = ""
    times: int = 0
    number: int = 0

    def check(self) -> None:
        """See that the key is one of its kind.

        Raises:
            ValueError: it is none.
        """
        if self.kind is MarkKind.OPERATORS:
            OperatorsKey.from_text(self.key)


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

    def count(self, times: Mapping[tuple[MarkKind, str], int]) -> None:
        """Count how often disagreements were taken for what marks lead to.

        Args:
            times: since the last call, by kind and key; what is no mark yet is left out.
        """
        with self._transaction() as connection:
            for (kind, key), more in times.items():
                mine = (FAULT_MARK.c.kind == kind.value) & (FAULT_MARK.c.key == key)
                connection.execute(update(FAULT_MARK).where(mine).values(times=FAULT_MARK.c.times + more))

    def taken_up_to(self) -> int:
        """The number up to which the marks of a fleet were looked at; 0 if none were."""
        query = select(SETTING.c.value).where(SETTING.c.key == TAKEN_UP_TO)
        with self._transaction() as connection:
            text = connection.execute(query).scalar_one_or_none() or "0"
        if not text.isascii() or not text.isdigit():
            raise self._damaged(f"setting {TAKEN_UP_TO!r}: expected a number, got {text!s:.40}")
        return int(text)

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

    def forget_others(self, signatures: Sequence[str] | None = None) -> None:
        """Forget findings of other agents, and what leads to them: nobody here has them, or their fleet has lost them.

        Jobs that run know them until they end.

        Args:
            signatures: of them; ``None``: all, and marks of the fleet will be looked at from the first on.
        """
        lost = FAULT_MARK.c.source != "", ELSEWHERE.c.number > 0
        if signatures is not None:
            lost = lost[0] & FAULT_MARK.c.signature.in_(signatures), ELSEWHERE.c.signature.in_(signatures)
        with self._transaction() as connection:
            connection.execute(delete(FAULT_MARK).where(lost[0]))
            connection.execute(delete(ELSEWHERE).where(lost[1]))
            if signatures is None:
                connection.execute(delete(SETTING).where(SETTING.c.key == TAKEN_UP_TO))

    def sweep(self) -> None:
        """Remove marks that cannot be read, and those that lead to nothing that is stored and confirmed."""
        with self._transaction() as connection:
            rows = connection.execute(select(FAULT_MARK)).all()
            gone = [row.number for row in rows if not self._leads_somewhere(connection, row)]
            connection.execute(delete(FAULT_MARK).where(FAULT_MARK.c.number.in_(gone)))

    def _leads_somewhere(self, connection: Connection, row: Sequence[object]) -> bool:
        try:
            mark = self._mark(row)
        except UsageError:
            return False
        return not mark.signature or _is_confirmed(connection, mark.signature)

    def seen_elsewhere(self) -> list[SeenElsewhere]:
        """Findings of other agents that this campaign has seen, too."""
        c = ELSEWHERE.c
        query = select(c.number, c.signature, c.times).where(c.times > 0).order_by(c.number)
        with self._transaction() as connection:
            return [SeenElsewhere(*row) for row in connection.execute(query)]

    def _mark(self, row: Sequence[object]) -> FaultMark:
        match row:
            case [int(number), str(kind), str(key), str(signature), str(source), int(times)]:
                try:
                    mark = FaultMark(MarkKind(kind), key, signature, source, times, number)
                    mark.check()
                except ValueError as error:
                    raise self._damaged(f"fault mark {number}: {error}") from None
                return mark
            case _:
                raise self._damaged(f"fault mark {row[0]!r}: expected a kind, texts and a number, got {row!s:.80}")


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
            texts = {"key": mark.key, "signature": mark.signature, "source": mark.source}
            values = {"kind": mark.kind.value, **texts, "times": 0}
            connection.execute(insert(FAULT_MARK).values(**values).on_conflict_do_nothing())


def _is_confirmed(connection: Connection, signature: str) -> bool:
    own = (FINDING.c.signature == signature) & (FINDING.c.status == CONFIRMED) & ~FINDING.c.suspect
    queries = select(func.count()).where(own), select(func.count()).where(ELSEWHERE.c.signature == signature)
    return any(connection.execute(query).scalar_one() for query in queries)
