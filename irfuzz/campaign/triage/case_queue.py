"""Disagreements that wait for triage; the one that is likeliest to be news comes first, of its kind the smallest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from irfuzz.campaign.triage.time_budget import version_of

if TYPE_CHECKING:
    from irfuzz.findings.finding import Finding

EACH = 8
"""So many of one kind wait at most; the largest are let go."""

MOST = 512
"""So many wait in all."""

LARGE = 4
"""A program of three times so many nodes has its turn where one of few nodes would have its second."""

DOUBTED = 2.0
"""A suspect has its turn where a proven disagreement of its kind would have its third."""

Kind = tuple[str, str, str, bool]
"""Symptom, target, what a rejection said, and whether it is a suspect."""


@dataclass(frozen=True, slots=True)
class TriageCase:
    """A verdict that waits.

    Attributes:
        finding: as it was seen, before anything was measured; once it is stored, without program, inputs and answers.
        words: what a rejection said, normalised; empty for other symptoms.
        operators: on which the output depends.
        size: nodes of the program.
        again: it has all operators of a fault that is known, and is looked at only in case another hides behind it.
        strikes: how often whoever looked into it failed or died.
        number: in the database; 0 before it has one.
    """

    finding: Finding
    words: str
    operators: frozenset[str]
    size: int
    again: bool = False
    strikes: int = 0
    number: int = 0

    @property
    def kind(self) -> Kind:
        """What it shares with its like."""
        verdict = self.finding.verdict
        return (verdict.symptom.value, verdict.target, self.words, verdict.suspect)


class TriageQueue:
    """Cases of one job that nobody has looked into.

    To make a case small takes a thousand times as long as running it, so what is looked into is chosen: first what is
    not explained by a known fault; of that, targets and symptoms that had few turns, and small programs.
    """

    def __init__(self) -> None:
        self._kinds: dict[Kind, list[TriageCase]] = {}
        self._turns: Counter[tuple[str, ...]] = Counter()

    def __len__(self) -> int:
        """How many wait that no known fault explains, without suspects."""
        return sum(not (item.again or item.finding.verdict.suspect) for row in self._kinds.values() for item in row)

    def add(self, item: TriageCase) -> list[TriageCase]:
        """Let a case wait; of two with the same operators the smaller one does.

        Args:
            item: if ``EACH`` of its kind wait already the largest of them is dropped, and the largest of all if
                ``MOST`` wait.

        Returns:
            Those that wait no more for it; it is among them if it does not wait itself.
        """
        row = self._kinds.setdefault(item.kind, [])
        for place, other in enumerate(row):
            if other.operators == item.operators:
                if item.size >= other.size:
                    return [item]
                row[place] = replace(item, again=item.again and other.again)
                return [other]
        row.append(item)
        row.sort(key=_inner)
        dropped = row[EACH:]
        del row[EACH:]
        if sum(map(len, self._kinds.values())) > MOST:
            largest = max((row[-1] for row in self._kinds.values() if row), key=_inner)
            self._drop(largest)
            dropped.append(largest)
        return dropped

    def take(self, allowed: Callable[[TriageCase], bool]) -> TriageCase | None:
        """The next one for which there is time; it waits no more.

        Args:
            allowed: whether there is time for a case; of each kind only the first is asked about.

        Returns:
            ``None`` if none may be taken. It counts as a turn of its version, symptom and message; those with few turns
            come first, and those with strikes last.
        """
        rows = (min(row, key=lambda item: (item.strikes, *_inner(item))) for row in self._kinds.values())
        first = [item for item in rows if allowed(item)]
        if not first:
            return None
        best = min(first, key=self._rank)
        self._drop(best)
        for one in _turns(best):
            self._turns[one] += 1
        return best

    def _rank(self, item: TriageCase) -> tuple[int, bool, float, int, int]:
        whole, symptom, kind = (self._turns[one] for one in _turns(item))
        late = DOUBTED if item.finding.verdict.suspect else 0.0
        return item.strikes, item.again, symptom + kind + math.log2(1 + item.size / LARGE) + late, whole, item.size

    def _drop(self, item: TriageCase) -> None:
        row = self._kinds[item.kind]
        row.remove(item)
        if not row:
            del self._kinds[item.kind]


def _inner(item: TriageCase) -> tuple[bool, int]:
    return item.again, item.size


def _turns(item: TriageCase) -> tuple[tuple[str, ...], ...]:
    """What turns are counted for: the version, its symptom, and that with its words."""
    version = version_of(item.finding.verdict.target)
    symptom = item.finding.verdict.symptom.value
    return (version,), (version, symptom), (version, symptom, item.words)
