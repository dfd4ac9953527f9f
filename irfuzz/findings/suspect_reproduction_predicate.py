"""Looks for programs that show what a suspect shows, and above all for one that shows it without a doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.run_types import RunResult, Value
from irfuzz.findings.causes.cause_grouping import BY_MESSAGE, VALUES
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate, told_by
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Verdict
from irfuzz.reduce.session import OutOfBudget


@dataclass(frozen=True, slots=True)
class SuspectDispute:
    """Who contradicts whom in a suspect, and about what.

    Attributes:
        verdict: of the suspect.
        told: what the component said, if it refused or died (``fault_predicate.told_by``).
    """

    verdict: Verdict
    told: str

    @classmethod
    def of(cls, suspect: Finding) -> SuspectDispute:
        """The dispute that a suspect is about.

        Args:
            suspect: with its case, whose names are taken out of messages.
        """
        return cls(suspect.verdict, told_by(suspect.verdict, suspect.case.program))

    def settled_by(self, verdict: Verdict, program: Program) -> bool:
        """Whether a verdict without a doubt may be about the same: NaN for one side may be a difference elsewhere.

        The majority may be wrong as long as there is a doubt, so any of those that contradict each other may turn out
        to be at fault: NaN of onnxruntime's two levels made suspects of NumPy, which alone was right.
        """
        mine = self.verdict
        if verdict.suspect or not {*verdict.blamed} & {*mine.blamed, *mine.witnesses}:
            return False
        if mine.symptom in BY_MESSAGE:
            return verdict.target in mine.blamed and self._is_same_refusal(verdict, program)
        return verdict.symptom is mine.symptom or {verdict.symptom, mine.symptom} <= VALUES

    def still_open(self, verdict: Verdict, program: Program) -> bool:
        """Whether a verdict is the same suspect: the same target, symptom, message and reason for the doubt.

        Args:
            verdict: on any program. The target need only be among those that it blames.
            program: whose names are taken out of the message.
        """
        mine = self.verdict
        same = verdict.suspect and verdict.symptom is mine.symptom and mine.target in verdict.blamed
        return same and verdict.excuse == mine.excuse and self._is_same_refusal(verdict, program)

    def _is_same_refusal(self, verdict: Verdict, program: Program) -> bool:
        return verdict.symptom is self.verdict.symptom and told_by(verdict, program) == self.told


class SuspectPredicate:
    """The predicate with which a suspect is made small; it ends the reduction at the first proof.

    Args:
        watch: runs programs for the suspect's verdict.
        suspect: what is looked for.
        known: whether a proof is of a fault that is known already; such programs are not taken for the suspect.
        stopping: true once no more should be asked.

    Attributes:
        proof: the suspect with a case and a verdict that leave no doubt; ``None`` as long as none was found.
    """

    def __init__(
        self,
        watch: FaultPredicate,
        suspect: Finding,
        known: Callable[[Finding], bool],
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._watch = watch
        self._suspect = suspect
        self._dispute = SuspectDispute.of(suspect)
        self._known = known
        self._stopping = stopping
        self.proof: Finding | None = None

    def still(self, program: Program, inputs: Mapping[str, Value]) -> bool:
        """Whether a program shows the suspect, with the same doubt.

        Raises:
            OutOfBudget: it shows it without one, or no more should be asked.
        """
        if self._stopping():
            raise OutOfBudget
        found, results = self._judged(program, inputs)
        self.proof = self.proved(found, program, inputs, results)
        if self.proof is not None:
            raise OutOfBudget
        return self.still_open(found, program) is not None

    def still_open(self, found: Sequence[Verdict], program: Program) -> Verdict | None:
        """The verdict on a program that is the same suspect, with the same doubt.

        Args:
            found: verdicts on the program.
            program: that was judged.

        Returns:
            ``None`` if there is none.
        """
        return next((one for one in found if self._dispute.still_open(one, program)), None)

    def tried(self, program: Program, inputs: Mapping[str, Value]) -> Finding | None:
        """The proof that one program gives, if it gives one.

        Args:
            program: what is run and judged.
            inputs: of it.

        Returns:
            As ``proved``.
        """
        found, results = self._judged(program, inputs)
        return self.proved(found, program, inputs, results)

    def proved(
        self, found: Sequence[Verdict], program: Program, inputs: Mapping[str, Value], results: Sequence[RunResult]
    ) -> Finding | None:
        """The suspect with what proves it among verdicts on a program; ``None`` if nothing does.

        Args:
            found: verdicts on the program; the first that settles the dispute counts.
            program: copied into the proof.
            inputs: of it.
            results: on which the verdicts are.

        Returns:
            A finding without a doubt; proofs of faults that are known already are passed over.
        """
        for one in found:
            if not self._dispute.settled_by(one, program):
                continue
            case = FailingCase(program.clone(), dict(inputs))
            proof = replace(self._suspect, verdict=one, case=case, results=results, group="")
            if not self._known(proof):
                return proof
        return None

    def _judged(
        self, program: Program, inputs: Mapping[str, Value]
    ) -> tuple[Sequence[Verdict], Sequence[RunResult]]:  # fmt: skip
        try:
            return self._watch.judged(program, inputs)
        except (InvalidProgram, Unsupported):
            return (), ()
