"""The way of every finding: confirmed, made small, led back to its cause, blamed, signed, replayed and stored.

Each step is a function that gives the finding on, or drops it and says what is to be counted. Campaigns, self-tests,
``irfuzz reduce`` and the pytest plug-in choose their steps from this one module; what differs between them, how they
run programs and if they keep findings, are their ``FindingReproducer`` and their ``Archive``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.execute.runner import Runner
from irfuzz.findings.blame.blamed_passes import with_pass
from irfuzz.findings.causes.cause_grouping import SMALL, VALUES
from irfuzz.findings.causes.fault_removing_edits import Inputs, conditions_of
from irfuzz.findings.causes.upstream_cause import earlier_cause
from irfuzz.findings.causes.wrong_dtype_shape_relation import KINDS
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate, among, same_fault
from irfuzz.findings.finding import Finding
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.ir.program import Program
from irfuzz.oracle import MeasuringJudge
from irfuzz.oracle.verdict import Symptom, Verdict


@dataclass(frozen=True, slots=True)
class DroppedFinding:
    """A finding that goes no further.

    Attributes:
        reason: what is counted.
    """

    reason: str


Step: TypeAlias = Callable[[Finding], "Finding | DroppedFinding"]

CONDITIONAL = KINDS | VALUES | {Symptom.REJECTION}
"""Symptoms of which conditions are looked for; a crash or hang for each would cost too much."""

Shrink: TypeAlias = Callable[[Finding, FaultPredicate], FailingCase]
"""The smallest case found that still shows what is watched for."""


def _running() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class FindingReproducer:
    """How findings are seen again and made small.

    Attributes:
        runners: each has all targets; as many candidates may be tried at once.
        asked: targets that are enough to see the same verdict again.
        heard: targets that have the last word on the small case.
        shrink: makes it small.
        unseen: why a finding is dropped that fresh processes do not show; given what they show and did.
        unheard: why one is dropped that those that are heard do not see in its small case, nor in its first.
        stopping: true once a finding is to be kept as large as it is.
    """

    runners: Sequence[Runner]
    asked: Callable[[Verdict], Sequence[Target]]
    heard: Callable[[Verdict], Sequence[Target]]
    shrink: Shrink
    unseen: Callable[[Finding, Sequence[Verdict], Sequence[RunResult]], str]
    unheard: Callable[[Finding], str]
    stopping: Callable[[], bool] = _running

    def run(self, case: FailingCase, targets: Sequence[Target], *, fresh: bool = True) -> list[RunResult]:
        """What targets do with a case, in fresh processes unless said otherwise.

        Args:
            case: program and inputs.
            targets: of the first runner.
            fresh: quicker if false, but what ran before may then be to blame.

        Raises:
            InvalidProgram: the case's bytes are no program.
        """
        runner = self.runners[0]
        return (runner.run_fresh if fresh else runner.run)(case.program, case.inputs, targets)

    def judge(self, case: FailingCase, results: Sequence[RunResult], *, invalid: bool) -> list[Verdict]:
        """What all oracles say of results, with everything measured.

        Args:
            case: that was run; it is run again on moved inputs if an oracle asks for that.
            results: of it.
            invalid: it breaks a rule of ONNX on purpose.

        Returns:
            Findings and suspects; witnesses that known issues make wrong are not believed.
        """
        hearing = MeasuringJudge(self.runners[0], wrong_here)
        return hearing.judge(case.program, case.inputs, results, invalid=invalid)

    def watch(self, finding: Finding) -> FaultPredicate:
        """Looks for the same fault in other programs.

        Args:
            finding: with a verdict that is no suspect.

        Returns:
            A predicate that runs the targets of ``asked``, on as many threads as there are runners.
        """
        verdict = finding.verdict
        return FaultPredicate(
            self.runners, verdict, finding.case.program, targets=self.asked(verdict), invalid=verdict.invalid,
            stopping=self.stopping,
        )  # fmt: skip


class Archive(Protocol):
    """Where findings are kept."""

    def settle(self, finding: Finding) -> Finding | DroppedFinding:
        """A signed finding under the name by which its like is kept; dropped if it is known.

        Args:
            finding: with signature and cause.
        """
        ...

    def replay(self, finding: Finding) -> Finding | DroppedFinding:
        """The finding with its own script, and whether that shows it.

        Args:
            finding: settled. One that its script does not show goes on as ``UNREPLAYED``.
        """
        ...

    def store(self, finding: Finding) -> Finding | DroppedFinding:
        """Keep it; the last step.

        Returns:
            The finding as it is kept, or what is to be counted if its like was kept meanwhile.
        """
        ...


def confirm(bench: FindingReproducer, finding: Finding) -> Finding | DroppedFinding:
    """The same verdict of fresh processes.

    Those that agree with each other need not all be asked here: all of them hear the small case. The newest version of
    the blamed component is asked though the campaign may not have run it; if it shows the fault too, it is blamed.
    """
    case, verdict = finding.case, finding.verdict
    verdicts: list[Verdict] = []
    results: list[RunResult] = []
    try:
        results = bench.run(case, bench.asked(verdict))
        verdicts = bench.judge(case, results, invalid=verdict.invalid)
    except (InvalidProgram, Unsupported):
        pass  # then it is not seen
    found = same_fault(verdicts, verdict) or among(verdicts, verdict)
    if found is None:
        return DroppedFinding(bench.unseen(finding, verdicts, results))
    return replace(finding, verdict=found)


def reduce(bench: FindingReproducer, finding: Finding) -> Finding | DroppedFinding:
    """The finding made small, as all that are heard see it; as large as it is if they see it only there."""
    return _smaller(bench, finding) or _as_found(bench, finding) or DroppedFinding(bench.unheard(finding))


def _smaller(bench: FindingReproducer, finding: Finding) -> Finding | None:
    case, verdict = bench.shrink(finding, bench.watch(finding)), finding.verdict
    results = bench.run(case, bench.heard(verdict))
    again = among(bench.judge(case, results, invalid=verdict.invalid), verdict)
    return None if again is None else replace(finding, case=case, verdict=again, results=results, before=finding)


def _as_found(bench: FindingReproducer, finding: Finding) -> Finding | None:
    case, verdict = finding.case, finding.verdict
    results = finding.results or bench.run(case, bench.heard(verdict))
    again = among(bench.judge(case, results, invalid=verdict.invalid), verdict)
    return None if again is None else replace(finding, verdict=again, results=results, before=finding)


def find_cause(bench: FindingReproducer, finding: Finding) -> Finding:
    """The finding that ends at the first value of a wrong dtype or shape, if what was seen only follows from one."""
    few = bench.asked(finding.verdict)

    def judged(program: Program) -> list[Verdict]:
        case = FailingCase(program, finding.case.inputs)
        return bench.judge(case, bench.run(case, few, fresh=False), invalid=finding.verdict.invalid)

    found = earlier_cause(finding.case.program, finding.verdict, judged)
    if found is None:
        return finding
    case = FailingCase(found[0], finding.case.inputs)
    first = replace(finding, case=case, verdict=found[1], results=())
    earlier = _smaller(bench, first) or _as_found(bench, first)
    return finding if earlier is None else replace(earlier, before=finding.before)


def blame(bench: FindingReproducer, finding: Finding) -> Finding:
    """The finding with the optimiser passes that make it.

    Args:
        bench: nothing is asked once it is stopping.
        finding: made small, with results.

    Returns:
        A copy whose verdict names passes, or a place, if they could be found.
    """
    if bench.stopping():
        return finding
    case, verdict = finding.case, finding.verdict
    found = with_pass(
        bench.runners[0], case.program, case.inputs, verdict, finding.results, invalid=verdict.invalid
    )  # fmt: skip
    return replace(finding, verdict=found)


def find_conditions(bench: FindingReproducer, finding: Finding) -> Finding:
    """The finding with what its small program needs to show it.

    Args:
        bench: runs and judges changed programs; nothing is asked once it is stopping.
        finding: made small. Only rejections and wrong types, shapes and values are looked into, in programs of at most
            ``SMALL`` nodes.

    Returns:
        A copy with ``needs``, or the finding itself.
    """
    case, verdict = finding.case, finding.verdict
    if bench.stopping() or verdict.symptom not in CONDITIONAL or len(case.program.graph) > SMALL:
        return finding
    few = bench.asked(verdict)

    def is_right(program: Program, inputs: Inputs) -> bool:
        changed = FailingCase(program, inputs)
        try:
            results = bench.run(changed, few, fresh=False)
            ran = any(r.target.name == verdict.target and r.exit is Exit.OK for r in results)
            return ran and not any(
                verdict.target in one.blamed for one in bench.judge(changed, results, invalid=verdict.invalid)
            )
        except (InvalidProgram, Unsupported):
            return False

    return replace(finding, needs=conditions_of(case.program, case.inputs, is_right))


def sign(archive: Archive, finding: Finding) -> Finding | DroppedFinding:
    """The finding with its signature, title and runs, unless its like is known.

    Args:
        archive: knows what was found, and counts it again.
        finding: with results.
    """
    return archive.settle(finding.signed())


def steps(bench: FindingReproducer, archive: Archive) -> tuple[Step, ...]:
    """The whole way of a finding of differential testing.

    Args:
        bench: runs and judges.
        archive: keeps.

    Returns:
        In order: confirm, reduce, find_cause, blame, find_conditions, sign, replay and store, for ``pass_through``.
    """
    return (
        partial(confirm, bench),
        partial(reduce, bench),
        partial(find_cause, bench),
        partial(blame, bench),
        partial(find_conditions, bench),
        partial(sign, archive),
        archive.replay,
        archive.store,
    )


def pass_through(finding: Finding, way: Iterable[Step]) -> Finding | DroppedFinding:
    """What becomes of a finding, step by step.

    Args:
        finding: as it was seen.
        way: steps, such as those of ``steps``.

    Returns:
        What the last step gives, or what the first one that drops the finding says.
    """
    for step in way:
        found = step(finding)
        if isinstance(found, DroppedFinding):
            return found
        finding = found
    return finding
