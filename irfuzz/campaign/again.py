"""A finding's folder enters; it is seen again, made smaller, and written anew."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from irfuzz.campaign.edits import fewer_edits
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.types import Target
from irfuzz.findings.blamed_passes import with_pass
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import Watch, same_fault
from irfuzz.findings.finding import Finding
from irfuzz.findings.known_issues import labelled
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.trace import Trace, parse_trace
from irfuzz.oracle.derived import concerned
from irfuzz.oracle.types import Verdict
from irfuzz.reduce import reduce_case
from irfuzz.reduce.session import Try
from irfuzz.reduce.state import State
from irfuzz.report.bundle import write_shown
from irfuzz.report.contradiction import ORACLE
from irfuzz.store.database import Status

TRIES = 1 << 30
"""A person who reduces one finding says how long, not how often."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a finding.

    Attributes:
        before: nodes of what the reduction began with.
        after: of the smallest case.
        edits: of the trace that is left, where edits were dropped.
        tries: candidates, over all calls.
        complete: nothing makes it smaller.
        signature: of the smallest case.
        shown: the new ``repro.py`` shows it.
    """

    before: int
    after: int
    edits: int | None
    tries: int
    complete: bool
    signature: str
    shown: bool


def reduce_finding(
    stored: Finding,
    folder: Path,
    out: Path,
    state: Path,
    *,
    seconds: float,
    jobs: int,
    original: bool,
    seeds: Mapping[str, Program],
    progress: Callable[[Try, int], None],
    timeout: float = 10.0,
) -> Outcome:
    """Make a finding smaller on the targets that it was seen on, and write its folder.

    Args:
        stored: the finding.
        folder: where it lies.
        out: where the new folder goes; if that is ``folder``, it is replaced once the new one is complete.
        state: folder of the reduction's state.
        seconds: at most.
        jobs: processes of each target, and candidates that are tried at once.
        original: begin with the program before it was made small, and with its edits.
        seeds: programs by digest, from which the trace begins; without them edits are not dropped.
        progress: told of every candidate and of how many nodes the best case has.
        timeout: seconds that a target may take with one program.

    Raises:
        UsageError: a target cannot be used here, or the finding does not show on these versions.
    """
    if stored.verdict.oracle == ORACLE:
        raise UsageError(f"{folder}: a target that contradicts itself; it was made small when it was found")
    targets = _targets(stored, folder)
    start = stored.original if original else stored.case
    program, inputs = start.program, start.inputs
    with contextlib.ExitStack() as stack:
        runners = [stack.enter_context(Runner(targets, Limits(seconds=timeout))) for _ in range(jobs)]
        seen = _seen(runners[0], folder, start, stored.verdict)
        watch = Watch(runners, seen, program, targets=concerned(targets[0], targets))
        case = State(state, program, inputs, f"{seen.symptom} of {seen.target}")
        stack.callback(case.close)
        edits: int | None = None
        trace = _trace(stored, folder)
        if original and not case.continued and trace is not None and trace.edits:
            fewer = fewer_edits(trace, seeds, inputs, watch.still)
            if fewer is not None:
                trace, smaller = fewer
                edits = len(trace.edits)
                case.finish(smaller, {n: v for n, v in inputs.items() if smaller.value(n)}, complete=False)
        before = len(program.graph)
        if not case.complete:

            def told(one: Try) -> None:
                case.saw(one)
                progress(one, len(case.program.graph))

            small = reduce_case(
                case.program,
                case.inputs,
                watch.still,
                values_of=watch.values_of,
                seconds=seconds,
                tries=TRIES,
                starts=watch.blamed(case.program, case.inputs)[1],
                jobs=jobs,
                skip=case.skip,
                on_try=told,
            )
            case.finish(small.program, small.inputs, complete=small.complete)
        verdicts, results = Watch(runners[:1], seen, program).judged(case.program, case.inputs, fresh=True)
        again = same_fault(verdicts, seen)
        if again is None:
            raise UsageError(f"{folder}: the smaller case, kept in {state}, does not show it in a fresh process")
        again = with_pass(runners[0], case.program, case.inputs, again, results)
        small = FailingCase(case.program, case.inputs)
        finding = replace(
            stored,
            verdict=again,
            case=small,
            results=results,
            trace={} if trace is None else trace.to_json(),
            status=Status.CONFIRMED,
        ).signed()
        python = next((t.interpreter for t in runners[0].targets if t.name == again.target), "") or sys.executable
        finding = write_shown(out, labelled(finding), seconds=max(120.0, 12 * timeout), python=python)
        shown = finding.status is Status.CONFIRMED
        return Outcome(before, len(case.program.graph), edits, case.tries, case.complete, finding.signature, shown)


def _trace(stored: Finding, folder: Path) -> Trace | None:
    """How the original was made; ``None`` if that is not known."""
    try:
        return parse_trace(stored.trace, f"{folder}/trace.json") if stored.trace else None
    except InvalidProgram:
        return None


def _targets(stored: Finding, folder: Path) -> tuple[Target, ...]:
    """The targets of the finding that are there; the blamed one must be."""
    blamed = stored.verdict.target
    names = [blamed, *(run.name for run in stored.runs if run.name != blamed)]
    found: dict[str, Target] = {}
    missing: list[str] = []
    for name in names:
        try:
            found.update({t.name: t for t in resolve([name])})
        except UsageError as error:
            missing.append(str(error))
    if names[0] not in found:
        raise UsageError(f"{folder}: its target cannot be used here: {missing[0]}")
    witnesses = [t for t in found.values() if t.name != names[0]]
    quick = [t for t in witnesses if not t.slow]
    return (found[names[0]], *(quick or witnesses))


def _seen(runner: Runner, folder: Path, start: FailingCase, wanted: Verdict) -> Verdict:
    """The verdict of a run of today."""
    program, inputs = start.program, start.inputs
    watch = Watch([runner], wanted, program, targets=concerned(runner.targets[0], runner.targets))
    verdicts, results = watch.judged(program, inputs, fresh=True)
    found = same_fault(verdicts, wanted)
    if found is not None:
        return found
    thin = next((v for v in verdicts if (v.symptom, v.target) == (wanted.symptom, wanted.target)), None)
    if thin is not None:
        why = thin.doubt or "the evidence is too thin"
        raise UsageError(
            f"{folder}: {wanted.symptom} of {wanted.target} is a suspect here ({why}), and only findings are "
            "made small; `irfuzz reduce MODEL --check CMD` keeps whatever CMD looks for"
        )
    did = "; ".join(_did(verdicts, [f"{r.target.name} {r.exit}" for r in results]))
    raise UsageError(f"{folder}: {wanted.symptom} of {wanted.target} does not show here ({did})")


def _did(verdicts: list[Verdict], ends: list[str]) -> Iterator[str]:
    yield ", ".join(ends)
    for verdict in verdicts:
        yield f"seen instead: {'suspect ' if verdict.suspect else ''}{verdict.symptom} of {verdict.target}"
