"""From a disagreement to a finding: a case enters, it is confirmed, made small, replayed and stored once."""

from __future__ import annotations

import json
import re
import shutil
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from irfuzz.campaign.budget import Budget
from irfuzz.campaign.cause import earlier_cause
from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.hunt import marked
from irfuzz.campaign.likely import Likely
from irfuzz.campaign.optimiser import with_pass
from irfuzz.campaign.rows import Origin, row_of
from irfuzz.campaign.versions import Started, name_of, shown_in
from irfuzz.campaign.watch import Watch, same_fault
from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.runner import PATIENCE, Runner
from irfuzz.execute.types import RunResult, Target, Value
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import judge, normalise_message, signature
from irfuzz.oracle.details import place_of, same_cause
from irfuzz.oracle.message import names_of
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.reduce import Reduced, reduce_case
from irfuzz.report.bundle import write_bundle, write_shown
from irfuzz.report.known import labelled
from irfuzz.store.database import Database, FindingRow, Status
from irfuzz.store.tensors import pack

TIMES = 32
"""How often one program runs in one process before what it showed among others counts as not repeatable."""

TELLING = frozenset({Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.REJECTION, Symptom.PROTOCOL})
"""Symptoms whose message names the fault, so that a known one is recognised before it is made small."""


def _words(verdict: Verdict, program: Program) -> str:
    """What a rejection says, without names and numbers; empty for other symptoms."""
    if verdict.symptom is not Symptom.REJECTION:
        return ""
    return normalise_message(str(verdict.evidence.get("message", "")), names_of(program))


@dataclass(frozen=True, slots=True)
class Case:
    """A program on which targets disagree.

    Attributes:
        program: the mutant.
        inputs: what it was run on.
        results: what every target did.
        invalid: an edit declared the program invalid, so that refusing it is right.
        trace: JSON: how the mutant was made.
        seed: name of the seed at the root of its lineage.
        job: which job made it.
        iteration: and when.
        hunt: what its inputs were steered to; empty where they were not.
    """

    program: Program
    inputs: Mapping[str, Value]
    results: Sequence[RunResult]
    invalid: bool
    trace: str
    seed: str
    job: int
    iteration: int
    hunt: str = ""


class Triage:
    """What one job does with disagreements; shares a runner with it.

    Args:
        layout: where drafts and folders go.
        database: where findings go.
        runner: has the job's targets.
        config: of the campaign.
        stopping: true once the job was asked to end; a finding is then kept as large as it is.
    """

    def __init__(
        self,
        layout: Layout,
        database: Database,
        runner: Runner,
        config: Config,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._stopping = stopping
        self._layout = layout
        self._database = database
        self._runner = runner
        self._config = config
        self._started = Started(Limits(seconds=config.timeout, memory_bytes=config.memory))
        weakref.finalize(self, self._started.close)
        self._likely = Likely()
        self._known: set[str] = set()
        self._aliases: dict[str, str] = {}
        self._began = time.monotonic()
        self._budget = Budget(tuple(t.name for t in runner.targets))

    def look(self, case: Case, counts: Counter[str]) -> None:
        """Store what is new about a case and count what is not."""
        start = time.monotonic()
        for verdict in self._judge(case.program, case.inputs, case.results, case.invalid):
            if verdict.suspect:
                counts["suspect runs"] += 1
                self._suspect(case, verdict)
            elif self._is_known(verdict, case.program):
                counts["repeated"] += 1
            elif self._likely.again(verdict, case.program, _words(verdict, case.program)):
                counts["likely repeated"] += 1
            elif not self._budget.allows(verdict.target, time.monotonic() - self._began):
                counts["untriaged"] += 1
            else:
                counts[self._finding(case, verdict)] += 1
            now = time.monotonic()
            self._budget.took(verdict.target, now - start)
            start = now
        self._budget.took("", time.monotonic() - start)

    # ---- the two ways -----------------------------------------------------------------------

    def _suspect(self, case: Case, verdict: Verdict, label: str = "suspect") -> None:
        """Store what has no proof once for each place where it shows."""
        key = f"{label}|{signature(verdict, case.program)}"
        if verdict.symptom not in TELLING:
            # Without a proof there is nothing to make small, so the place where it shows must do.
            output = case.program.value(verdict.output)
            producer = None if output is None else output.producer()
            key = f"{label}|{verdict.symptom}|{verdict.target}|{'' if producer is None else producer.op_type}"
        if key in self._known or self._database.count_again(key):
            self._known.add(key)
            return
        self._known.add(key)
        row = _row(case, verdict, case.program, case.inputs, case.results, key, Status.UNREPLAYED)
        number = self._database.add_finding(row)
        if number is not None:
            place_bundle(self._layout, replace(row, number=number))

    def _finding(self, case: Case, verdict: Verdict) -> str:
        """Confirm, reduce, replay and store; returns what to count."""
        heard = self._heard(verdict)
        if not self._shows(case.program, case.inputs, verdict, case.invalid, targets=heard, fresh=True):
            return self._depends_on_history(case, verdict)
        small, again, results = self._smallest(case, case.program, case.inputs, verdict)

        def judged(program: Program) -> list[Verdict]:
            return self._judge(program, small.inputs, self._runner.run(program, small.inputs, heard), case.invalid)

        found = earlier_cause(small.program, again, judged)
        if found is not None:
            small, again, results = self._smallest(case, found[0], small.inputs, found[1])
        if not self._stopping():
            again = with_pass(self._runner, small.program, small.inputs, again, results, invalid=case.invalid)
        key = signature(again, small.program)
        key = same_cause(key, self._database.signatures(place_of(key))) or key
        self._likely.add(verdict, _words(verdict, case.program), again, small.program)
        self._known.add(signature(verdict, case.program) if verdict.symptom in TELLING else key)
        self._known.add(key)
        if self._database.count_again(self._aliases.get(key, key)):
            return "repeated"
        row = _row(case, again, small.program, small.inputs, results, key, Status.CONFIRMED)
        return self._store(self._in_versions(row, again, small, results, case), case)

    def _in_versions(
        self, row: FindingRow, verdict: Verdict, small: Reduced, results: Sequence[RunResult], case: Case
    ) -> FindingRow:
        """The row with the versions that show it; one fault of several versions is one finding, whoever shows it."""
        if self._stopping():
            return row
        shown = shown_in(
            small.program, small.inputs, verdict, results, self._runner, self._started, invalid=case.invalid
        )  # fmt: skip
        if len(shown) == 1:
            return row
        key = name_of(shown)
        self._aliases[row.signature] = key
        about = {**json.loads(row.verdict), "shown": [asdict(s) for s in shown]}
        return replace(row, signature=key, verdict=json.dumps(about))

    def _smallest(
        self, case: Case, program: Program, inputs: Mapping[str, Value], verdict: Verdict
    ) -> tuple[Reduced, Verdict, Sequence[RunResult]]:
        """A program made small, what is said of it, and what fresh processes did; the given one where that fails."""
        involved = self._involved(verdict)
        watch = Watch(
            [self._runner], verdict, program, targets=involved, invalid=case.invalid, stopping=self._stopping
        )  # fmt: skip
        slow = any(t.slow for t in involved)
        seconds = self._config.reduce * (PATIENCE if slow else 1)
        starts = watch.blamed(program, inputs)[1] if not self._stopping() else []
        small = reduce_case(
            program, inputs, watch.still, values_of=watch.values_of, seconds=seconds, starts=starts
        )  # fmt: skip
        results = self._runner.run_fresh(small.program, small.inputs, self._heard(verdict))
        again = same_fault(self._judge(small.program, small.inputs, results, case.invalid), verdict)
        if again is not None:
            return small, again, results
        alike = program is case.program
        seen = case.results if alike else self._runner.run_fresh(program, inputs, self._heard(verdict))
        return Reduced(program, dict(inputs)), verdict, list(seen)

    def _depends_on_history(self, case: Case, verdict: Verdict) -> str:
        """What a fresh process does not show may come of running the same again and again, as a leak does.

        It is kept as large as it is, for each try costs many runs, and once for a target, for its operators explain
        nothing. What even that does not show was seen all the same, and is kept apart.
        """
        key = f"again|{verdict.symptom}|{verdict.target}"
        if self._database.count_again(key):
            return "repeated"
        involved = self._involved(verdict)
        for runs in range(2, TIMES + 1):
            if self._stopping():
                break
            again = self._seen_in(case.program, case.inputs, verdict, case.invalid, involved)
            if again is not None:
                again = replace(again, evidence={**again.evidence, "runs": runs, "limit": self._config.memory})
                row = _row(case, again, case.program, case.inputs, case.results, key, Status.CONFIRMED)
                return self._store(replace(row, title=f"{row.title}, after {runs} runs in one process"), case)
        self._suspect(case, verdict, "unrepeatable")
        return "unrepeatable"

    def _store(self, row: FindingRow, case: Case) -> str:
        if self._database.count_again(row.signature):
            return "repeated"
        row = labelled(row)
        draft = self._layout.drafts / f"job{case.job}"
        shutil.rmtree(draft, ignore_errors=True)
        python = next(t.interpreter for t in self._runner.targets if t.name == row.target)
        row, shown, log = write_shown(draft, row, seconds=max(120.0, 12 * self._config.timeout), python=python)
        if not shown:
            runs = json.loads(row.runs)
            row = replace(row, status=Status.UNREPLAYED, runs=json.dumps([*runs, {"repro.py": log[-2000:]}]))
        number = self._database.add_finding(row)
        if number is None:
            shutil.rmtree(draft, ignore_errors=True)
            return "repeated"
        # The row is the finding; its folder can be made from it at any time.
        place_bundle(self._layout, replace(row, number=number))
        shutil.rmtree(draft, ignore_errors=True)
        return "findings" if shown else "unreplayed"

    # ---- judging again ----------------------------------------------------------------------

    def _judge(
        self, program: Program, inputs: Mapping[str, Value], results: Sequence[RunResult], invalid: bool
    ) -> list[Verdict]:
        targets = tuple(r.target for r in results)

        def rerun(other: Mapping[str, Value], moved: Program | None = None, /) -> Sequence[RunResult]:
            return self._runner.run(moved or program, other, targets)

        return judge(program, inputs, results, rerun=rerun, shadow=self._runner.shadow, expected_invalid=invalid)

    def _shows(
        self,
        program: Program,
        inputs: Mapping[str, Value],
        verdict: Verdict,
        invalid: bool,
        *,
        targets: Sequence[Target] | None = None,
        fresh: bool = False,
    ) -> bool:
        try:
            return self._seen_in(program, inputs, verdict, invalid, targets, fresh=fresh) is not None
        except (InvalidProgram, Unsupported):
            return False

    def _seen_in(
        self,
        program: Program,
        inputs: Mapping[str, Value],
        verdict: Verdict,
        invalid: bool,
        targets: Sequence[Target] | None = None,
        *,
        fresh: bool = False,
    ) -> Verdict | None:
        """The same verdict in one more run."""
        run = self._runner.run_fresh if fresh else self._runner.run
        return same_fault(self._judge(program, inputs, run(program, inputs, targets), invalid), verdict)

    def _is_known(self, verdict: Verdict, program: Program) -> bool:
        if verdict.symptom not in TELLING:
            return False
        key = signature(verdict, program)
        if key not in self._known:
            return False
        self._database.count_again(self._aliases.get(key, key))
        return True

    def _involved(self, verdict: Verdict) -> tuple[Target, ...]:
        names = {verdict.target, *verdict.witnesses}
        # A slow one that merely agrees would make each step of reduction take seconds.
        chosen = tuple(t for t in self._heard(verdict) if t.name in names)
        return chosen if len(chosen) > 1 else self._heard(verdict)

    def _heard(self, verdict: Verdict) -> tuple[Target, ...]:
        """All targets but the slow ones that are not blamed."""
        quick = tuple(t for t in self._runner.targets if not t.slow or t.name == verdict.target)
        return quick if len(quick) > 1 else tuple(self._runner.targets)


def _row(
    case: Case,
    verdict: Verdict,
    program: Program,
    inputs: Mapping[str, Value],
    results: Sequence[RunResult],
    key: str,
    status: Status,
) -> FindingRow:
    origin = Origin(case.program.to_bytes(), pack(case.inputs), case.trace, case.job, case.iteration)
    verdict = marked(verdict, program, inputs, case.hunt)
    return row_of(verdict, program, inputs, results, key, status, origin)


def folder_name(number: int, row: FindingRow) -> str:
    """``0007-difference-onnxruntime-all``: readable, and safe as a file name whatever the target is called."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{row.symptom} {row.target}".lower()).strip("-")[:60]
    return f"{number:04d}-{slug}"


def bundle_folder(layout: Layout, row: FindingRow) -> Path:
    """Where a stored finding's folder belongs."""
    kind = layout.suspects if row.suspect else layout.findings
    if row.status == Status.UNREPLAYED and not row.suspect:
        kind = layout.unreplayed
    return kind / folder_name(row.number, row)


def place_bundle(layout: Layout, row: FindingRow) -> Path:
    """Write a stored finding's folder where it belongs, unless it is there already."""
    folder = bundle_folder(layout, row)
    if not folder.exists():
        write_bundle(folder, row)
    return folder
