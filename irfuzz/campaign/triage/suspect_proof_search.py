"""What triage does with a suspect: it looks for a program that shows the same without a doubt.

What excuses a suspect (a cast out of range, a sum that overflows, a witness that refuses) mostly stands elsewhere in
its program, or comes of its inputs. So its nodes run alone, other witnesses are asked, its inputs become ordinary, and
it is made small with the doubt still on it. The first proof on the way is the finding, and takes the suspect's row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from irfuzz.campaign.corpus.hazard_input_steering import SAFE
from irfuzz.campaign.stored_findings.archive import CampaignArchive, words_of
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.facts import TensorFact
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.findings.finding import Finding
from irfuzz.findings.pipeline import FindingReproducer
from irfuzz.findings.suspect_reproduction_predicate import SuspectPredicate
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.oracle.fault_signature import operators_of
from irfuzz.oracle.verdict import Verdict
from irfuzz.reduce import reduce_case

Case: TypeAlias = tuple[Program, Mapping[str, Value]]

WITNESSES = ("reference", "onnxruntime:disabled", "numpy:eager")
"""Readings of ONNX that are asked about a doubt for want of witnesses, beside the targets of the campaign."""

HEAVY = ("torch:eager",)
"""Those that take seconds to start."""

HEAVY_FROM = 30.0
"""Seconds, a tenth of the campaign, that a start may take from which on these are asked, too."""

FEW = frozenset({"no-witnesses", "few-accept", "as-many-reject"})
"""Excuses that say that witnesses are missing."""

EXPLAINED = "suspects explained by known findings"
OPEN = "suspects without a proof"


@dataclass(frozen=True, slots=True)
class SuspectMeans:
    """What the search for proofs works with.

    Attributes:
        runner: of the job; witnesses are added to it when they are first needed.
        bench: judges programs.
        archive: knows what was found, and keeps the smaller cases.
        heard: the targets that bear witness on a verdict.
        seconds: that making a suspect small may take.
        longest: seconds that starting another witness may take.
        stopping: true once the job was asked to end.
    """

    runner: Runner
    bench: FindingReproducer
    archive: CampaignArchive
    heard: Callable[[Verdict], Sequence[Target]]
    seconds: float
    longest: float
    stopping: Callable[[], bool]


class Suspects:
    """Looks into one job's suspects.

    Args:
        means: to run, judge and keep programs.
        came_to: sends a proof along the way of findings, and says what to count.
    """

    def __init__(self, means: SuspectMeans, came_to: Callable[[Finding], str]) -> None:
        self._means = means
        self._came_to = came_to
        self._called = False

    def look_into(self, suspect: Finding) -> str:
        """What a suspect comes to, for a count.

        If witnesses were missing more of them are started first. Then other inputs and smaller programs are tried
        until one proves it.

        Args:
            suspect: as it is stored.

        Returns:
            What its proof came to; else ``EXPLAINED`` or ``OPEN``.
        """
        if suspect.verdict.excuse in FEW:
            self._call_witnesses()
        search = _Search(self._means, suspect)
        proof = search.proof()
        if proof is not None:
            return self._came_to(proof)
        known = search.explaining()
        return EXPLAINED if known is not None and self._means.archive.explains(known) else OPEN

    def _call_witnesses(self) -> None:
        """Add the witnesses that the campaign's targets lack, as far as they are installed; once."""
        runner = self._means.runner
        names = WITNESSES + (HEAVY if self._means.longest >= HEAVY_FROM else ())
        for name in names if not self._called else ():
            if name in {target.name for target in runner.targets}:
                continue
            with contextlib.suppress(UsageError):  # it is not installed here
                for target in resolve([name]):
                    runner.add(target)
        self._called = True


class _Search:
    """The search for a proof of one suspect."""

    def __init__(self, means: SuspectMeans, suspect: Finding) -> None:
        self._means = means
        self._suspect = self._left = suspect
        self._heard = means.heard(suspect.verdict)
        self._watch = FaultPredicate(
            [means.runner], suspect.verdict, suspect.case.program, targets=self._heard, stopping=means.stopping
        )  # fmt: skip
        self._seen = SuspectPredicate(self._watch, suspect, self._is_known, means.stopping)
        self._known: list[Finding] = []

    def proof(self) -> Finding | None:
        """The suspect with a case that leaves no doubt; if there is none, its smaller case is stored."""
        case = self._suspect.case
        parts = self._watch.faulty_parts(case.program, case.inputs)
        for program, inputs in self._candidates(parts):
            if self._means.stopping():
                return None
            found = self._seen.tried(program, inputs)
            if found is not None:
                return found
        return self._smaller(parts)

    def explaining(self) -> Finding | None:
        """What is known already and explains the suspect: it shows without a doubt in a part of its program or on other
        inputs, and what is left of the suspect has all of its operators.
        """
        left = self._left
        there = set(operators_of(left.verdict, left.case.program))
        return next((k for k in self._known if {*operators_of(k.verdict, k.case.program)} <= there), None)

    def _is_known(self, proof: Finding) -> bool:
        """Whether a proof is of a fault that is known."""
        archive, verdict, program = self._means.archive, proof.verdict, proof.case.program
        signed = proof.signed()
        if archive.has(signed):
            self._known.append(signed)
            return True
        return archive.recognised.likely.knows(verdict, program, words_of(verdict, program))

    def _candidates(self, parts: Sequence[Case]) -> Iterator[Case]:
        """Parts that are wrong alone, the whole if more witnesses hear it now, and the whole on ordinary inputs."""
        yield from parts
        case, verdict = self._suspect.case, self._suspect.verdict
        program = case.program
        if verdict.excuse in FEW:
            yield program, case.inputs
        floats = [v.name or "" for v in program.graph.inputs if _is_float(program.fact(v))]
        for seed, ends in enumerate(SAFE if floats else ()):
            yield program, make_inputs(program, seed, ranges=dict.fromkeys(floats, ends))

    def _smaller(self, parts: Sequence[Case]) -> Finding | None:
        """The proof to which making the suspect small leads; if there is none, what is left of it is stored."""
        whole = self._suspect.case
        small = reduce_case(
            whole.program, whole.inputs, self._seen.still, values_of=self._watch.values_of,
            seconds=self._means.seconds, starts=parts,
        )  # fmt: skip
        if self._seen.proof is not None or self._means.stopping():
            return self._seen.proof
        case = FailingCase(small.program, small.inputs, settled=small.settled)
        results = self._means.bench.run(case, self._heard)
        found = self._means.bench.judge(case, results, invalid=False)
        left = self._seen.still_open(found, case.program)
        if left is not None:
            self._left = replace(self._suspect, verdict=left, case=case, results=results)
            if self._suspect.doubted and len(case.program.nodes()) < len(whole.program.nodes()):
                self._means.archive.keep_smaller(self._left)
        return self._seen.proved(found, case.program, case.inputs, results)


def _is_float(fact: object) -> bool:
    return isinstance(fact, TensorFact) and fact.dtype.is_floating_point()
