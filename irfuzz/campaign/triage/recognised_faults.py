"""What one job knows of faults that it or others have looked into, and what it lets others know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from irfuzz.campaign.triage.known_fault_filter import KnownFaultFilter, SuspectGroupFilter
from irfuzz.oracle.fault_signature import operators_of
from irfuzz.store.fault_marks import FaultMark, MarkKind, OperatorsKey

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.oracle.verdict import Verdict
    from irfuzz.store.database import Database


class RecognisedFaults:
    """Recognises faults before their cases are made small, and lets others recognise what this job has confirmed.

    Args:
        database: of the campaign, in which other jobs, this one before it died, and in a fleet other agents have left
            their marks.
        identity: says in which version the target of a name runs here; empty if it does not.

    Attributes:
        likely: of which operators findings were made.
        tried: groups of suspects that were looked into.
        signatures: that are known, as they are seen.
    """

    def __init__(self, database: Database, identity: Callable[[str], str]) -> None:
        self._marks, self._identity = database.marks, identity
        self.likely, self.tried = KnownFaultFilter(), SuspectGroupFilter()
        self.signatures: set[str] = set()
        self._names: dict[str, str] = {}
        self._noted: list[tuple[MarkKind, str]] = []
        self._learnt = 0

    def name(self, signature: str) -> str:
        """The signature under which a finding is stored that is seen under another, or under that one."""
        return self._names.get(signature, signature)

    def call(self, signature: str, name: str) -> None:
        """Know that what is seen under one signature is stored under another."""
        self._names[signature] = name

    # ---- of others, and for them ------------------------------------------------------------

    def learn(self) -> None:
        """Know what was stored since the last call; what another version of a target has shown explains nothing.

        Raises:
            UsageError: the database is damaged.
        """
        for mark in self._marks.after(self._learnt):
            self._learnt = mark.number
            if mark.kind is MarkKind.GROUP:
                self.tried.learn(mark.key, mark.times)
            elif mark.kind is MarkKind.OPERATORS:
                key = OperatorsKey.from_text(mark.key)
                here = self._identity(key.target)
                if not (here and key.identity) or here == key.identity:
                    self.likely.learn(key, mark.times)
            else:
                self.signatures.add(mark.key)
                self._names.setdefault(mark.key, mark.signature)

    def tell(self) -> None:
        """Store how often this job has taken something for a known fault, so that its next life goes on from there."""
        times = {(MarkKind.GROUP, group): many for group, many in self.tried.counted().items()}
        for ((symptom, target, words), operators), many in self.likely.counted().items():
            key = OperatorsKey(symptom, target, words, operators, self._identity(target))
            times[MarkKind.OPERATORS, key.to_text()] = many
        if times:
            self._marks.count(times)

    def looked_into(self, group: str) -> None:
        """Let other jobs know that one of a group of suspects was looked into."""
        self._marks.add([FaultMark(MarkKind.GROUP, group)])

    # ---- of one finding ---------------------------------------------------------------------

    def forget_noted(self) -> None:
        """Begin with another finding."""
        self._noted = []

    def note_small(self, seen: Verdict, words: str, small: Verdict, program: Program) -> None:
        """Know what a case came to; the arguments are those of ``KnownFaultFilter.add``."""
        self.likely.add(seen, words, small, program)
        operators = frozenset(operators_of(small, program))
        key = OperatorsKey(seen.symptom.value, seen.target, words, operators, self._identity(seen.target))
        self._noted.append((MarkKind.OPERATORS, key.to_text()))

    def note_signature(self, signature: str) -> None:
        """Know a signature as it is seen."""
        self.signatures.add(signature)
        self._noted.append((MarkKind.SIGNATURE, signature))

    def store_noted(self) -> None:
        """Let others know what was noted of the finding, if it is stored and confirmed by now.

        All that was noted leads to the name of the last signature.
        """
        if self._noted:
            name = self.name(self._noted[-1][1])
            self._marks.add([FaultMark(kind, key, name) for kind, key in self._noted])
