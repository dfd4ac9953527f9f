"""Keeps one job's queue for triage in the campaign's database, so that what waits outlives the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irfuzz.campaign.triage.case_queue import TriageCase, TriageQueue
from irfuzz.campaign.triage.waiting_case_codec import (
    NO_CASE,
    answers_in,
    bare_finding_of,
    operators_in,
    waiting_row_of,
    whole_parts,
)
from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Target
from irfuzz.store.waiting_rows import JOBS, WaitingRow

if TYPE_CHECKING:
    from irfuzz.findings.finding import Finding
    from irfuzz.ir.program import Program
    from irfuzz.store.database import Database

LIVE = 16
"""So many of the newest cases are also kept as they were seen; of the others only what they are chosen by."""


def _not_remade(trace: Mapping[str, Any]) -> Program:
    raise InvalidProgram("a program that waits for triage is none by its bytes, and nobody makes it again")


class StoredQueue:
    """Cases of one job that nobody has looked into, also those that the job left when it was killed.

    A case is stored with how far the job has come (``Database.record``) and removed when it is known what it came to
    (``done``). So a kill in between costs no case; one whose finding was stored by then is looked into once more, and
    counted as a repetition.

    Args:
        database: of the campaign.
        job: whose cases these are.
        remade: the program that the edits of a trace make, for programs that their bytes do not give.
        busy: told the number of each case that is taken.

    Attributes:
        database: of the campaign.
    """

    def __init__(
        self,
        database: Database,
        job: int = 0,
        remade: Callable[[Mapping[str, Any]], Program] = _not_remade,
        busy: Callable[[int], None] = lambda number: None,
    ) -> None:
        self.database = database
        self._remade = remade
        self._busy = busy
        self._queue = TriageQueue()
        self._live: dict[int, Finding] = {}
        self._number = database.waiting.first_number(job)
        waiting = database.waiting.of(job)
        self._earlier = {row.number for row in waiting}
        for row in waiting:
            self._let_wait(_case_of(row))

    def is_earlier(self, item: TriageCase) -> bool:
        """Whether a case waits since before this job began."""
        return item.number in self._earlier

    def __len__(self) -> int:
        """How many wait that no known fault explains, without suspects."""
        return len(self._queue)

    def add(self, item: TriageCase) -> int:
        """Let a case wait that was seen just now, as ``TriageQueue.add`` does; returns how many wait no more for it.

        Args:
            item: whole, with the program, its inputs and what targets did. It is stored with the next
                ``Database.record``.
        """
        item = replace(item, number=self._number)
        self._number += JOBS
        self._live[item.number] = item.finding
        dropped = self._let_wait(item)
        if item.number in self._live:  # it waits
            row = waiting_row_of(
                item.finding, self.database.programs, number=item.number, words=item.words, operators=item.operators,
                size=item.size, again=item.again,
            )  # fmt: skip
            self.database.waiting.add(row)
        if len(self._live) > LIVE:
            del self._live[next(iter(self._live))]
        return dropped

    def _let_wait(self, item: TriageCase) -> int:
        dropped = self._queue.add(_bare(item))
        for one in dropped:
            self._live.pop(one.number, None)
            self.database.waiting.let_go(one.number)
        return len(dropped)

    def take(self, allowed: Callable[[TriageCase], bool]) -> TriageCase | None:
        """The next one for which there is time, as ``TriageQueue.take`` chooses; it stays in the database.

        Args:
            allowed: whether a case may be taken.

        Returns:
            The case, to be given to ``whole``, and then to ``done``, ``put_back`` or ``strike``; ``None`` if none may
            be taken.
        """
        item = self._queue.take(allowed)
        if item is not None:
            self._busy(item.number)
        return item

    def whole(self, item: TriageCase, targets: Sequence[Target]) -> TriageCase:
        """A case with its program, its inputs and what targets did.

        Args:
            item: as ``take`` gave it.
            targets: that there are now; answers of others are left out, and all of them if they were too many to be
                stored.

        Raises:
            InvalidProgram: its program cannot be made again.
            UsageError: its row is damaged.
        """
        live = self._live.get(item.number)
        if live is None:
            row = self.database.waiting.whole(item.number)
            case, trace = whole_parts(row, self.database.programs, self._remade)
            answers = answers_in(row, targets)
            live = replace(item.finding, case=case, original=case, results=answers, trace=trace)
        return replace(item, finding=live)

    def done(self, item: TriageCase) -> None:
        """Let a case wait no more: it is known what it came to.

        Args:
            item: that was taken.
        """
        self._live.pop(item.number, None)
        self.database.waiting.forget(item.number)

    def put_back(self, item: TriageCase) -> None:
        """Let a case that was taken wait again.

        Args:
            item: with what was learnt of it: whether a known fault explains it, and as what it is kept (``doubted``).
        """
        doubted = item.finding.doubted
        live = self._live.get(item.number)
        if live is not None:
            self._live[item.number] = replace(live, doubted=doubted)
        self.database.waiting.change(item.number, again=item.again, doubted=doubted)
        self._let_wait(item)

    def strike(self, item: TriageCase) -> None:
        """Put back a case during whose triage irfuzz failed.

        Args:
            item: that was taken.
        """
        self.database.waiting.strike(item.number)
        self._let_wait(replace(item, strikes=item.strikes + 1))


def _case_of(row: WaitingRow) -> TriageCase:
    return TriageCase(
        bare_finding_of(row), row.words, operators_in(row), row.size, row.again, row.strikes, row.number
    )  # fmt: skip


def _bare(item: TriageCase) -> TriageCase:
    """A case without its program, its inputs and what targets did."""
    finding = replace(item.finding, case=NO_CASE, original=NO_CASE, results=(), trace={})
    return replace(item, finding=finding)
