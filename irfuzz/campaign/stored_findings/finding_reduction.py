"""Makes the finding of a folder smaller, by the steps that campaigns send theirs through."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from irfuzz.campaign.stored_findings.mutation_trace_reduction import fewer_edits
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute.run_types import RunResult, Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.findings.finding import Finding
from irfuzz.findings.known_issues import labelled
from irfuzz.findings.pipeline import FindingReproducer, blame, confirm, find_conditions, pass_through, reduce, sign
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutation_trace import parse_trace
from irfuzz.oracle.converter_verdicts import concerned
from irfuzz.oracle.verdict import Verdict
from irfuzz.reduce import reduce_case
from irfuzz.reduce.resume_folder import ReductionState
from irfuzz.reduce.session import Reduced
from irfuzz.report.finding_folder_writer import write_shown
from irfuzz.report.repro_scripts.two_form_script import ORACLE
from irfuzz.store.database import Status

TRIES = 1 << 30
"""A person who reduces one finding says how long, not how often."""


@dataclass(frozen=True, slots=True)
class ReductionOutcome:
    """What became of a finding.

    Attributes:
        finding: as it is now, with the smallest case.
        before: nodes of what the reduction began with.
        after: of the smallest case.
        edits: of the trace that is left, if edits were dropped.
        tries: candidates, over all calls.
        complete: nothing makes it smaller.
        signature: of the smallest case.
        shown: the new ``repro.py`` shows it.
    """

    finding: Finding = field(compare=False, repr=False)
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
    progress: Callable[[int, int], None],
    timeout: float = 10.0,
) -> ReductionOutcome:
    """Make a finding smaller on the targets that it was seen on, and write its folder.

    Args:
        stored: the finding.
        folder: its own.
        out: path of the new folder; if that is ``folder``, it is replaced once the new one is complete.
        state: folder of the reduction's state.
        seconds: at most.
        jobs: processes of each target, and candidates that are tried at once.
        original: begin with the program before it was made small, and with its edits.
        seeds: programs by digest, from which the trace begins; without them edits are not dropped.
        progress: told after every candidate how many there were, and of how many nodes the best case has.
        timeout: seconds that a target may take with one program.

    Raises:
        UsageError: a target cannot be used here, or the finding does not show on these versions.
    """
    if stored.verdict.oracle == ORACLE:
        raise UsageError(f"{folder}: a target that contradicts itself; it was made small when it was found")
    targets = targets_of(stored, folder)
    start = replace(stored, case=stored.original if original else stored.case)
    with contextlib.ExitStack() as stack:
        runners = [stack.enter_context(Runner(targets, Limits(seconds=timeout))) for _ in range(jobs)]
        work = _Reduction(folder, out, state, seconds, seeds if original else {}, progress, max(120.0, 12 * timeout))
        stack.callback(work.close)
        concerned_ones = concerned(targets[0], targets)
        bench = FindingReproducer(
            runners, lambda _: concerned_ones, lambda _: targets, work.shrink, work.unseen, work.unheard
        )
        way = (
            partial(confirm, bench), partial(reduce, bench), partial(blame, bench), partial(find_conditions, bench),
            partial(sign, work), work.replay,
        )  # fmt: skip
        found = pass_through(start, way)
        assert isinstance(found, Finding)
        return work.outcome(found)


class _Reduction:
    """One call of ``irfuzz reduce``: how far it has come, and the ``Archive`` that writes its folder.

    Args:
        folder: of the finding.
        out: where the new folder goes.
        state: folder of the reduction's state.
        seconds: at most.
        seeds: programs by digest, so that edits can be dropped.
        progress: told of every candidate.
        patience: seconds that the new script may take.
    """

    def __init__(
        self,
        folder: Path,
        out: Path,
        state: Path,
        seconds: float,
        seeds: Mapping[str, Program],
        progress: Callable[[int, int], None],
        patience: float,
    ) -> None:
        self._folder, self._out, self._place = folder, out, state
        self._seconds, self._seeds, self._progress, self._patience = seconds, seeds, progress, patience
        self._edits: int | None = None
        self._trace: Mapping[str, Any] | None = None
        self._before: int  # known with the state
        self._state: ReductionState | None = None

    def close(self) -> None:
        """Close the state's files."""
        if self._state is not None:
            self._state.close()

    def shrink(self, finding: Finding, watch: FaultPredicate) -> FailingCase:
        """The smallest case, from where an earlier call has come."""
        program, inputs = finding.case.program, finding.case.inputs
        state = self._state = ReductionState(
            self._place, program, inputs, f"{finding.verdict.symptom} of {finding.verdict.target}"
        )
        if self._seeds and not state.continued:
            self._drop_edits(finding, watch, state)
        self._before = len(program.graph)
        settled = True
        if not state.complete:

            def told(key: bytes, best: Reduced | None) -> None:
                state.saw(key, best)
                self._progress(state.tries, len(state.program.graph))

            small = reduce_case(
                state.program, state.inputs, watch.still, values_of=watch.values_of, seconds=self._seconds,
                tries=TRIES, starts=watch.faulty_parts(state.program, state.inputs), jobs=watch.jobs,
                skip=state.skip, on_try=told,
            )  # fmt: skip
            state.keep(small)
            settled = small.settled
        return FailingCase(state.program, state.inputs, settled=settled)

    def _drop_edits(self, finding: Finding, watch: FaultPredicate, state: ReductionState) -> None:
        try:
            trace = parse_trace(finding.trace, f"{self._folder}/trace.json") if finding.trace else None
        except InvalidProgram:
            return  # how it was made is not known
        inputs = finding.case.inputs
        fewer = fewer_edits(trace, self._seeds, inputs, watch.still) if trace is not None and trace.edits else None
        if fewer is not None:
            trace, smaller = fewer
            self._edits, self._trace = len(trace.edits), trace.to_json()
            state.keep(Reduced(smaller, {n: v for n, v in inputs.items() if smaller.value(n)}, complete=False))

    def unseen(self, finding: Finding, verdicts: Sequence[Verdict], results: Sequence[RunResult]) -> str:
        """What does not show here is not made small.

        Raises:
            UsageError: always; says what shows instead.
        """
        wanted = finding.verdict
        thin = next((v for v in verdicts if (v.symptom, v.target) == (wanted.symptom, wanted.target)), None)
        if thin is not None:
            why = thin.doubt or "the evidence is too thin"
            raise UsageError(
                f"{self._folder}: {wanted.symptom} of {wanted.target} is a suspect here ({why}), and only findings are "
                "made small; `irfuzz reduce MODEL --check CMD` keeps whatever CMD looks for"
            )
        did = "; ".join(_did(verdicts, [f"{r.target.name} {r.exit}" for r in results]))
        raise UsageError(f"{self._folder}: {wanted.symptom} of {wanted.target} does not show here ({did})")

    def unheard(self, finding: Finding) -> str:
        """A smaller case of which a fresh process knows nothing is no finding.

        Raises:
            UsageError: always.
        """
        del finding
        raise UsageError(
            f"{self._folder}: the smaller case, kept in {self._place}, does not show it in a fresh process"
        )  # fmt: skip

    def settle(self, finding: Finding) -> Finding:
        """Its signature is what it is called; of its edits those that were not dropped made it."""
        if self._state is None or finding.case.program is not self._state.program:
            self.unheard(finding)
        return finding if self._trace is None else replace(finding, trace=self._trace)

    def replay(self, finding: Finding) -> Finding:
        """Write its folder, with a script."""
        own = next((r.target for r in finding.results if r.target.name == finding.verdict.target), None)
        python = own.interpreter if own is not None and own.interpreter else sys.executable
        finding = replace(labelled(finding), status=Status.CONFIRMED)
        return write_shown(self._out, finding, seconds=self._patience, python=python)

    def store(self, finding: Finding) -> Finding:
        """Its folder is all that is kept."""
        return finding

    def outcome(self, finding: Finding) -> ReductionOutcome:
        """What became of it."""
        assert self._state is not None
        nodes, shown = len(finding.case.program.graph), finding.status is Status.CONFIRMED
        state = self._state
        return ReductionOutcome(
            finding, self._before, nodes, self._edits, state.tries, state.complete, finding.signature, shown
        )  # fmt: skip


def targets_of(stored: Finding, folder: Path) -> tuple[Target, ...]:
    """The targets of a finding that are there, the blamed one first.

    Args:
        stored: the finding; its verdict and its runs name them.
        folder: of it, for the message.

    Returns:
        Of the witnesses only the quick ones, if there are any.

    Raises:
        UsageError: the blamed one is not.
    """
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


def _did(verdicts: Sequence[Verdict], ends: list[str]) -> Iterator[str]:
    yield ", ".join(ends)
    for verdict in verdicts:
        yield f"seen instead: {'suspect ' if verdict.suspect else ''}{verdict.symptom} of {verdict.target}"
