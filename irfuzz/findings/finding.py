"""The central type of this folder: a disagreement with all that is needed to report it and to show it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.findings.causes.cause_grouping import SMALL, Cause
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.output_literals import answer_text, element_place
from irfuzz.oracle import signature, title
from irfuzz.oracle.verdict import Verdict
from irfuzz.store.database import Status


@dataclass(frozen=True, slots=True)
class TargetRun:
    """What a target did, as far as it is kept.

    Attributes:
        name: of the target.
        component: what ran it.
        options: of the target.
        version: of the component.
        environment: of ``execute.Target``: which of several environments ran it.
        requirement: what pip needs to make that environment; empty for irfuzz's own.
        answer: source text of what it gave (``answers.answer_text``); empty if that is not known.
        stage: how far it came; empty if that is not known.
        exit: how it ended; empty if that is not known.
        error: what it said.
    """

    name: str
    component: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    version: str = ""
    environment: str = ""
    requirement: str = ""
    answer: str = ""
    stage: str = ""
    exit: str = ""
    error: str = ""

    @classmethod
    def by(cls, target: Target, name: str = "", **seen: str) -> Self:
        """A run by a target, under its own name if no other is given.

        Args:
            target: its version, environment and options are kept.
            name: such as that of a form in a self-test.
            seen: further fields: stage, exit, error and answer.
        """
        return cls(
            name or target.name, target.component, dict(target.options), target.version, target.environment,
            target.requirement, **seen,
        )  # fmt: skip

    @classmethod
    def of(cls, result: RunResult, verdict: Verdict, name: str = "") -> Self:
        """What is kept of a result on which there is a verdict.

        Args:
            result: of any target that took part.
            verdict: names the output. The element at fault, or a short output as a whole, is kept as source text.
            name: in place of the target's.
        """
        place = element_place(verdict.element, verdict.output)
        answer = answer_text(result.outputs, verdict.output, verdict.symptom, place) if verdict.output else ""
        if result.exit is Exit.OK and not verdict.output:
            answer = "'answers'"
        return cls.by(
            result.target, name, stage=result.stage.value, exit=result.exit.value, error=result.error[:500],
            answer=answer,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class VersionAnswer:
    """One version's answer.

    Attributes:
        target: the blamed target in that version.
        version: of the component.
        environment: which holds it; empty for irfuzz's own.
        shows: whether the same fault shows; ``None`` if it cannot be told.
        told: why not, or what shows instead, or its own message if it shows with another; mostly empty.
        signature: of the fault as this version shows it; empty if it does not.
        previous: the release before it on the package index, empty if it is the oldest; ``None`` if nobody has asked.
    """

    target: str
    version: str
    environment: str
    shows: bool | None
    told: str = ""
    signature: str = ""
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """An issue that explains a finding.

    Attributes:
        id: short; what findings are labelled with.
        title: one line.
        link: upstream report or change; empty if none is known.
        docs: where irfuzz's own documentation tells more.
    """

    id: str
    title: str = ""
    link: str = ""
    docs: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A disagreement; complete once it went through the pipeline.

    Attributes:
        verdict: what is wrong, and who is blamed, with the passes that make it.
        case: the program that shows it, and its inputs.
        original: the same before it was made small.
        results: what every target did with ``case`` in this process; not stored.
        before: the same when it was confirmed; not stored.
        runs: what is kept of the results.
        trace: how the original was made, as JSON has it; empty if that is not known.
        hunt: what the inputs were steered to; empty if they were not.
        needs: what the fault does not show without (``conditions``); stored as a part of ``cause``.
        signature: text that is equal for findings of one fault.
        cause: what its program tells of the cause; ``None`` if that is large, or an older irfuzz stored it.
        group: of a suspect, text that is equal for those that are alike (``suspect_finding_groups``); empty for a
            finding.
        title: one line.
        status: whether its own script shows it.
        shown: in which installed versions it shows, oldest first; empty if no other is installed.
        known: issues that explain it.
        long_script: ``repro.py`` runs the witnesses, too, since a short one does not show it.
        calls: what the generated source calls in the framework at fault (``short_calls.calls_in``).
        printed: what ``repro.py`` printed, if it did not show it.
        label: what a person has said of it.
        job: which job of a campaign found it.
        iteration: and when.
        times: how often it was seen.
        number: in its campaign; 0 before it is stored.
        doubted: number under which it is stored as a suspect, if it may be a finding after all; not stored.
        first: when it was stored, in seconds since 1970.
        last: when it was last seen.
    """

    verdict: Verdict
    case: FailingCase
    original: FailingCase
    results: Sequence[RunResult] = field(default=(), repr=False)
    before: Finding | None = field(default=None, repr=False, compare=False)
    runs: Sequence[TargetRun] = ()
    trace: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hunt: str = ""
    needs: tuple[str, ...] = ()
    signature: str = ""
    cause: Cause | None = None
    group: str = ""
    title: str = ""
    status: Status = Status.CONFIRMED
    shown: tuple[VersionAnswer, ...] = ()
    known: tuple[KnownIssue, ...] = ()
    long_script: bool = False
    calls: Mapping[str, Any] | None = None
    printed: str = ""
    label: str = ""
    job: int = 0
    iteration: int = 0
    times: int = 1
    number: int = 0
    doubted: int = 0
    first: float = 0.0
    last: float = 0.0

    def signed(self) -> Finding:
        """The same with signature, cause, title and runs, as verdict, case and results have them.

        Returns:
            A copy. Its runs are made of ``results``, which a finding lacks that was read from a row.
        """
        return replace(
            self,
            runs=tuple(TargetRun.of(result, self.verdict) for result in self.results),
            signature=signature(self.verdict, self.case.program),
            cause=self._cause(),
            title=title(self.verdict, self.case.program),
        )

    def _cause(self) -> Cause | None:
        program, settled = self.case.program, self.case.settled
        if len(program.graph) > SMALL and settled:
            return None
        return Cause.of(self.verdict, program, self.needs, settled=settled)

    @property
    def component(self) -> str:
        """Of the blamed target, without its version."""
        return self.verdict.target.partition(":")[0].partition("@")[0]
