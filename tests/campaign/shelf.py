"""An archive that tests of triage look into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irfuzz.campaign.triage.known_fault_filter import KnownFaultFilter, SuspectGroupFilter
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Verdict


class Recognised:
    """What one job knows, beside which there is no other."""

    def __init__(self) -> None:
        self.likely, self.tried = KnownFaultFilter(), SuspectGroupFilter()
        self.told: list[str] = []

    def learn(self) -> None:
        pass

    def tell(self) -> None:
        pass

    def looked_into(self, group: str) -> None:
        self.told.append(group)


class Shelf:
    """An archive that knows some targets, and notes what it is given."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.again: set[str] = set()
        self.proven: set[int] = set()
        self.unfinished = 0
        self.recognised = Recognised()
        self.suspects: list[tuple[Finding, str]] = []
        self.taken: list[tuple[Finding, int]] = []
        self.doubted: list[int] = []
        self.comes_to = "findings"

    def knows(self, verdict: Verdict, one: Program, *, doubted: int = 0) -> bool:
        self.doubted.append(doubted)
        return verdict.target in self.known

    def recognises(self, verdict: Verdict, one: Program) -> bool:
        return verdict.target in self.known

    def count_again(self, key: str) -> bool:
        return key in self.again

    def doubts(self, one: Finding) -> bool:
        return one.doubted not in self.proven

    def keep_suspect(self, suspect: Finding, label: str = "suspect") -> Finding:
        self.suspects.append((suspect, label))
        return replace(suspect, doubted=len(self.suspects))

    def take(self, found: Finding, way: Sequence[object]) -> str:
        self.taken.append((found, len(tuple(way))))
        return self.comes_to

    replay = store = None
