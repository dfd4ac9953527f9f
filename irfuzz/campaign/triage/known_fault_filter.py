"""Says of a disagreement whether it is likely one that was looked into before, and need not be again now."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from irfuzz.oracle.fault_signature import operators_of

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.oracle.verdict import Verdict
    from irfuzz.store.fault_marks import OperatorsKey

_Place = tuple[str, str, str]
"""Symptom, target, and what a rejection said."""


TURNS_BEFORE = 8
"""Of a fault that another job has looked into, or this one before it died, the first occurrences had their turns then:
counting goes on behind so many, and behind those that jobs have counted since."""


def has_turn(times: int) -> bool:
    """Whether a repetition is looked into: the 1st, 2nd, 4th, 8th and so on.

    Args:
        times: how often it was seen, this time included. Powers of two have a turn, and 0 does, too.
    """
    return not times & (times - 1)


class KnownFaultFilter:
    """Remembers of which operators the findings so far were made.

    Making a case small takes a thousand times as long as running it, and frequent faults show in many programs. A case
    with all operators of a known finding of its symptom and target is taken for that one, but for its 1st, 2nd, 4th,
    8th... occurrence: another fault may hide behind it.
    """

    def __init__(self) -> None:
        self._made: dict[_Place, dict[frozenset[str], int]] = {}
        self._counted: Counter[tuple[_Place, frozenset[str]]] = Counter()

    def add(self, verdict: Verdict, words: str, small: Verdict, program: Program) -> None:
        """What a case came to.

        Args:
            verdict: of the case as it was.
            words: what a rejection said, normalised; empty for other symptoms.
            small: of the case made small.
            program: which is small.
        """
        operators = frozenset(operators_of(small, program))
        self._made.setdefault(_place(verdict, words), {}).setdefault(operators, 0)

    def learn(self, key: OperatorsKey, times: int) -> None:
        """What another job came to, or this one before it died.

        Args:
            key: of it; what is known here already stays as it is.
            times: that jobs have counted since it was known.
        """
        place = (key.symptom, key.target, key.words)
        self._made.setdefault(place, {}).setdefault(key.operators, TURNS_BEFORE + times)

    def counted(self) -> dict[tuple[_Place, frozenset[str]], int]:
        """How often ``again`` has counted each known fault since the last call."""
        counted, self._counted = dict(self._counted), Counter()
        return counted

    def knows(self, verdict: Verdict, program: Program, words: str) -> bool:
        """Whether a case has all operators of a known finding of its symptom and target.

        Args:
            verdict: on the case.
            program: of it.
            words: what a rejection said, normalised; empty for other symptoms. It must be the same.
        """
        return bool(self._explaining(verdict, program, words))

    def again(self, verdict: Verdict, program: Program, words: str) -> bool:
        """Count a case; True if it need not be looked at.

        Args:
            verdict: on the case.
            program: of it; each known finding whose operators it has is counted once.
            words: as for ``knows``.
        """
        known = self._explaining(verdict, program, words)
        made = self._made.get(_place(verdict, words), {})
        for operators in known:
            made[operators] += 1
            self._counted[_place(verdict, words), operators] += 1
        return any(not has_turn(made[operators]) for operators in known)

    def _explaining(self, verdict: Verdict, program: Program, words: str) -> list[frozenset[str]]:
        made = self._made.get(_place(verdict, words))
        if not made:
            return []
        there = set(operators_of(verdict, program))
        return [operators for operators in made if operators and operators <= there]


class SuspectGroupFilter:
    """Remembers which groups of suspects (``findings.suspect_finding_groups``) were looked into.

    One frequent fault that stays in doubt would take all of the time that suspects have, so of a group the first is
    looked into, and of those that come later the 1st, 2nd, 4th and so on.
    """

    def __init__(self) -> None:
        self._later: dict[str, int] = {}
        self._counted: Counter[str] = Counter()

    def add(self, group: str) -> None:
        """One of a group is looked into.

        Args:
            group: its key; counting begins at 0, and goes on if it was there already.
        """
        self._later.setdefault(group, 0)

    def learn(self, group: str, times: int) -> None:
        """Another job has looked into one of a group, or this one before it died.

        Args:
            group: its key; if it is known here already nothing changes.
            times: that jobs have counted since it was known.
        """
        self._later.setdefault(group, TURNS_BEFORE + times)

    def counted(self) -> dict[str, int]:
        """How often ``again`` has counted each group since the last call."""
        counted, self._counted = dict(self._counted), Counter()
        return counted

    def knows(self, group: str) -> bool:
        """Whether one of a group was looked into."""
        return group in self._later

    def again(self, group: str) -> bool:
        """Count a later one of a group; True if it need not be looked at.

        Args:
            group: its key; of one that ``add`` never got nothing is counted, and the answer is false.
        """
        if group not in self._later:
            return False
        self._later[group] += 1
        self._counted[group] += 1
        return not has_turn(self._later[group])


def _place(verdict: Verdict, words: str) -> _Place:
    return (verdict.symptom.value, verdict.target, words)
