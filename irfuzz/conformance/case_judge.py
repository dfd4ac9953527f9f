"""Judges what one target made of one case, against witnesses that do not depend on the other targets of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from irfuzz.conformance.case_types import CaseRun
from irfuzz.conformance.target_results import FAULTS, CaseStatus
from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, TargetRole, Value
from irfuzz.execute.runner import Runner
from irfuzz.findings.known_issues import RuleSubject, shipped
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.ir.program import Program
from irfuzz.oracle import MeasuringJudge, Verdict
from irfuzz.oracle.converter_verdicts import OF_VALUES
from irfuzz.oracle.verdict import Symptom

EXPECTED = Target("onnx:expected", "onnx-expected-values")
"""Stands for the values that ONNX publishes with a node case; no runner can run it."""

_ENDS = {
    Exit.CRASH: CaseStatus.DIES,
    Exit.EXITED: CaseStatus.DIES,
    Exit.MEMORY: CaseStatus.DIES,
    Exit.PROTOCOL: CaseStatus.DIES,
    Exit.HANG: CaseStatus.HANGS,
    Exit.REJECTED: CaseStatus.REFUSES,
    Exit.UNSUPPORTED: CaseStatus.REFUSES,
}

_SYMPTOMS = {Exit.REJECTED: Symptom.REJECTION, Exit.HANG: Symptom.HANG, Exit.MEMORY: Symptom.MEMORY}
"""What known issues call an end; the others are crashes."""

MADE_WRONGLY = ("the model that it made", "InferenceError: ", "QuantizationError: ")
"""Stand in the error of a tool that has refused nothing, but has made a model that is invalid or breaks its promise."""

CONVERTED_WRONGLY = "ConversionError: "
"""Begins the error of a converter whose model nothing can run here, if it declares something else than is computed."""

ENDED = frozenset(end for end, status in _ENDS.items() if status is not CaseStatus.REFUSES)
"""Ends of a process, which are tried again before they count."""


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What a target made of a case.

    Attributes:
        status: what came of it.
        detail: what a reader wants to know of it; empty if it is right.
        known: ids of the known issues that explain it; empty if it is no fault.
    """

    status: CaseStatus
    detail: str = ""
    known: tuple[str, ...] = ()


class CaseJudge:
    """Judges the targets of one case; what is computed in float64 for one of them serves the others.

    Args:
        runner: ran the case, and runs it again with moved inputs and in float64.
        case: that was run.
    """

    def __init__(self, runner: Runner, case: CaseRun) -> None:
        self._case = case
        self._shadows: dict[bool, ShadowRun] = {}
        self._runner = runner
        self._judge = MeasuringJudge(
            runner,
            wrong_here,
            shadow=lambda program, inputs: self._shadow(program, inputs, quick=False),
            quick=lambda program, inputs: self._shadow(program, inputs, quick=True),
        )

    def verdict(self, result: RunResult, witnesses: Sequence[RunResult]) -> CaseVerdict:
        """What one target made of it.

        Args:
            result: of the target.
            witnesses: results of other components, and of the target that computes the same without a tool.
        """
        if result.exit is not Exit.OK or result.stage is not Stage.RUN:
            status = _ENDS.get(result.exit, CaseStatus.UNDECIDED)
            if result.exit is Exit.REJECTED and any(words in result.error for words in MADE_WRONGLY):
                status = CaseStatus.WRONG if result.target.role is TargetRole.TOOL else status
            if result.exit is Exit.REJECTED and result.error.startswith(CONVERTED_WRONGLY):
                status = CaseStatus.WRONG
            symptom = _SYMPTOMS.get(result.exit, Symptom.CRASH)
            known = self._known(result.target, symptom, result.error) if status in FAULTS else ()
            return CaseVerdict(status, f"{result.exit}: {result.error}".strip(": "), known)
        ran = [r for r in witnesses if r.exit is Exit.OK and r.stage is Stage.RUN]
        if self._case.expected is not None:
            ran.append(RunResult(EXPECTED, Stage.RUN, Exit.OK, self._case.expected))
        if not any(r.target.component != result.target.component for r in ran):
            return CaseVerdict(CaseStatus.UNDECIDED, "nobody else computes it")
        try:
            found = self._judge.judge(self._case.program, self._case.inputs, [result, *ran])
        except (InvalidProgram, Unsupported) as error:
            return CaseVerdict(CaseStatus.UNDECIDED, f"it cannot be judged: {error}")
        mine = [v for v in found if v.symptom in OF_VALUES]
        made = _of_verdicts(result.target, mine)
        if made.status is not CaseStatus.WRONG:
            return made
        firm = next(v for v in mine if result.target.name in v.blamed and not v.suspect)
        return replace(made, known=self._known(result.target, firm.symptom, firm.got))

    def _known(self, target: Target, symptom: Symptom, said: str) -> tuple[str, ...]:
        case = self._case
        subject = RuleSubject.of_program(case.program, target.component, target.version, symptom, said, fed=case.inputs)
        return tuple(rule.id for rule in shipped() if rule.fits(subject))

    def _shadow(self, program: Program, inputs: Mapping[str, Value], *, quick: bool) -> ShadowRun:
        run = self._runner.quick_shadow if quick else self._runner.shadow
        if program is not self._case.program or inputs is not self._case.inputs:
            return run(program, inputs)
        if quick not in self._shadows:
            self._shadows[quick] = run(program, inputs)
        return self._shadows[quick]


def witnesses_for(target: Target, results: Sequence[RunResult]) -> list[RunResult]:
    """The results that bear witness on a target: those of other components, and of what its tool starts from.

    Args:
        target: that is judged.
        results: of the witnesses, and of what tools start from.
    """
    return [r for r in results if r.target.component != target.component or r.target.name == target.before]


def _of_verdicts(target: Target, verdicts: Sequence[Verdict]) -> CaseVerdict:
    mine = [v for v in verdicts if target.name in v.blamed]
    firm = [v for v in mine if not v.suspect]
    if firm:
        return CaseVerdict(CaseStatus.WRONG, _told(firm[0]))
    if mine:
        return CaseVerdict(CaseStatus.UNDECIDED, f"{mine[0].doubt} ({_told(mine[0])})")
    for verdict in verdicts:
        # Of two groups of one witness each, nobody knows which is right.
        if verdict.suspect and {*verdict.witnesses} <= {target.name}:
            return CaseVerdict(CaseStatus.UNDECIDED, f"{verdict.target} differs, and nobody else agrees with it")
    return CaseVerdict(CaseStatus.RIGHT)


def _told(verdict: Verdict) -> str:
    where = f" at {verdict.element}" if verdict.element else f" of {verdict.output}" if verdict.output else ""
    values = f": {verdict.got or '?'} instead of {verdict.expected or '?'}" if verdict.got or verdict.expected else ""
    far = "" if verdict.ratio is None else f", {verdict.ratio:.3g} times the bound"
    return f"{verdict.symptom}{where}{values}{far}"
