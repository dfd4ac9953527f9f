"""From a disagreement to a finding: a case enters, it is confirmed, made small, replayed and stored once."""

from __future__ import annotations

import contextlib
import shutil
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from irfuzz.campaign.budget import GRACE, Budget
from irfuzz.campaign.case import Case
from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.hunt import marked
from irfuzz.campaign.likely import Likely
from irfuzz.campaign.places import place_bundle
from irfuzz.campaign.waiting import Item, Waiting
from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.runner import PATIENCE, Runner
from irfuzz.execute.types import Exit, RunResult, Target, Value
from irfuzz.findings.blamed_passes import with_pass
from irfuzz.findings.codec import row_of
from irfuzz.findings.confirming_targets import heard, jury
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import Watch, same_fault
from irfuzz.findings.finding import Finding
from irfuzz.findings.known_issues import labelled
from irfuzz.findings.upstream_cause import earlier_cause
from irfuzz.findings.versions import Started, name_of, shown_in
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import judge, normalise_message, signature
from irfuzz.oracle.details import place_of, same_cause
from irfuzz.oracle.message import names_of
from irfuzz.oracle.signature import operators_of
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.reduce import Reduced, reduce_case
from irfuzz.report.bundle import write_shown
from irfuzz.store.database import Database, Status

TIMES = 32
"""How often one program runs in one process before what it showed among others counts as not repeatable."""

MILLISECONDS = "milliseconds of triage"
"""Name of a count."""

CUT = frozenset(
    {Symptom.REJECTION, Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE, Symptom.DIFFERENCE, Symptom.NAN_INF}
)  # fmt: skip
"""Symptoms whose suspects are looked at node by node."""

CUT_NODES = 150
"""Of programs with more nodes no suspects are."""

TELLING = frozenset({Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.REJECTION, Symptom.PROTOCOL})
"""Symptoms whose message names the fault, so that a known one is recognised before it is made small."""


def _words(verdict: Verdict, program: Program) -> str:
    """What a rejection says, without names and numbers; empty for other symptoms."""
    if verdict.symptom is not Symptom.REJECTION:
        return ""
    return normalise_message(verdict.message, names_of(program))


class NotHeard(Exception):
    """What a few witnesses say against a target, all of them together do not."""


def _among(verdicts: Sequence[Verdict], wanted: Verdict) -> Verdict | None:
    """The verdict with a symptom that blames a target, be it beside another version or variant of its component."""
    for one in verdicts:
        if one.symptom is wanted.symptom and wanted.target in one.blamed and not one.suspect:
            return one
    return None


def _undecided(verdict: Verdict) -> bool:
    """Whether running it again on moved inputs may make a finding of a suspect."""
    if "could not be measured" in verdict.doubt:
        return verdict.symptom in (Symptom.DIFFERENCE, Symptom.NAN_INF)
    return verdict.symptom is Symptom.DIFFERENCE and "does not exceed" in verdict.doubt


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
        self._waiting = Waiting()

    def look(self, case: Case, verdicts: Sequence[Verdict], counts: Counter[str]) -> None:
        """Take note of what is new about a case, count what is not, and look into what waits, as far as there is time.

        Args:
            case: a program on which targets disagree.
            verdicts: on it, of all targets; nothing was run again for them.
            counts: of the job.
        """
        start = time.monotonic()
        for verdict in verdicts:
            words = _words(verdict, case.program)
            suspect = verdict.suspect and not _undecided(verdict)
            if suspect:
                counts["suspect runs"] += 1
                self._suspect(case, verdict)
                if case.invalid or verdict.symptom not in CUT or len(case.program.nodes()) > CUT_NODES:
                    continue
            if self._is_known(verdict, case.program):
                counts["repeated"] += 1
                continue
            again = self._likely.knows(verdict, case.program, words)
            if again and suspect:
                continue
            if again and self._likely.again(verdict, case.program, words):
                counts["likely repeated"] += 1
                continue
            operators = frozenset(operators_of(verdict, case.program))
            verdict = verdict if suspect else replace(verdict, suspect=False)
            self._waiting.add(Item(case, verdict, words, operators, len(case.program.nodes()), again))
        self._took("", start, counts)
        self.work(counts)

    def work(self, counts: Counter[str]) -> None:
        """Look into what waits, as far as there is time."""
        while not self._stopping():
            start = time.monotonic()
            item = self._waiting.take(partial(self._affords, start - self._began))
            if item is None:
                break
            verdict, program = item.verdict, item.case.program
            if self._is_known(verdict, program):
                counts["repeated"] += 1
            elif verdict.suspect:
                if not self._likely.knows(verdict, program, item.words):
                    counts[self._cut_out(item.case, verdict)] += 1
            elif item.again or not self._likely.knows(verdict, program, item.words):
                counts[self._finding(item.case, verdict)] += 1
            elif self._likely.again(verdict, program, item.words):  # it became known while this one waited
                counts["likely repeated"] += 1
            else:
                self._waiting.add(replace(item, again=True))
            self._took(verdict.target, start, counts)
            counts["triaged"] += 1
        counts["untriaged"] = len(self._waiting)

    def _affords(self, elapsed: float, item: Item) -> bool:
        """Whether there is time for what waits; suspects, most of which are none alone, get half of it at most."""
        return self._budget.allows(item.verdict.target, elapsed / 2 if item.verdict.suspect else elapsed)

    def _took(self, target: str, since: float, counts: Counter[str]) -> None:
        seconds = time.monotonic() - since
        self._budget.took(target, seconds)
        counts[MILLISECONDS] += round(1000 * seconds)

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
        as_it_is = FailingCase(case.program, case.inputs)
        finding = _finding_of(case, verdict, as_it_is, case.results, key)
        self._add(replace(finding, status=Status.UNREPLAYED))

    def _cut_out(self, case: Case, suspect: Verdict) -> str:
        """What excuses a suspect may stand elsewhere in its program: look at the nodes that do wrong alone.

        Each is a program of its own, on what it was fed there. Returns what to count.
        """
        heard = self._heard(suspect)
        watch = Watch([self._runner], suspect, case.program, targets=heard, stopping=self._stopping)
        for program, inputs in watch.blamed(case.program, case.inputs)[1]:
            results = self._runner.run(program, inputs, heard)
            alone = replace(case, program=program, inputs=inputs, results=results)
            for verdict in judge(program, inputs, results, shadow=self._runner.shadow):
                if verdict.suspect or suspect.target not in verdict.blamed or self._is_known(verdict, program):
                    continue
                if not self._likely.knows(verdict, program, _words(verdict, program)):
                    return self._finding(alone, verdict, case)
        return "suspects without a fault alone"

    def _finding(self, case: Case, seen: Verdict, whole: Case | None = None) -> str:
        """Confirm, reduce, replay and store; returns what to count.

        Args:
            case: a program on which targets disagree.
            seen: what was said of it.
            whole: of which ``case`` is a part, where it is one.
        """
        verdict = self._shown(case, seen)
        if verdict is None:
            told = self._explained(case, seen)
            return told or ("unrepeatable" if whole is not None else self._depends_on_history(case, seen))
        try:
            small, again, results = self._smallest(case, case.program, case.inputs, verdict)
        except NotHeard:
            return self._explained(case, seen) or "explained by rounding"
        few = self._involved(again)

        def judged(program: Program) -> list[Verdict]:
            return self._judge(program, small.inputs, self._runner.run(program, small.inputs, few), case.invalid)

        found = earlier_cause(small.program, again, judged)
        if found is not None:
            with contextlib.suppress(NotHeard):
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
        if whole is not None:
            again = replace(again, cut_out=True)
        finding = _finding_of(whole or case, again, FailingCase(small.program, small.inputs), results, key)
        return self._store(self._in_versions(finding, case), case)

    def _shown(self, case: Case, verdict: Verdict) -> Verdict | None:
        """The same verdict of fresh processes, now that everything is measured.

        Those who agree with each other need not all be asked here: all of them hear the small program.
        """
        few = self._involved(verdict)
        try:
            return self._seen_in(case.program, case.inputs, verdict, case.invalid, few, fresh=True)
        except (InvalidProgram, Unsupported):
            return None

    def _explained(self, case: Case, verdict: Verdict) -> str:
        """What to count where measuring explains what was seen; empty where it was one and does not show again."""
        verdicts = self._judge(case.program, case.inputs, case.results, case.invalid)
        if same_fault(verdicts, verdict) is not None:
            return ""
        for one in verdicts:
            if one.suspect and (one.symptom, one.target) == (verdict.symptom, verdict.target):
                self._suspect(case, one)
                return "suspect runs"
        return "explained by rounding"

    def _in_versions(self, finding: Finding, case: Case) -> Finding:
        """The finding with the versions that show it; what several versions show is one finding, whoever shows it."""
        if self._stopping():
            return finding
        small = finding.case
        shown = shown_in(
            small.program, small.inputs, finding.verdict, finding.results, self._runner, self._started,
            invalid=case.invalid,
        )  # fmt: skip
        if len(shown) == 1:
            return finding
        key = name_of(shown)
        self._aliases[finding.signature] = key
        return replace(finding, signature=key, shown=shown)

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
        again = _among(self._judge(small.program, small.inputs, results, case.invalid), verdict)
        if again is not None:
            return small, again, results
        alike = program is case.program
        seen = case.results if alike else self._runner.run_fresh(program, inputs, self._heard(verdict))
        again = _among(self._judge(program, inputs, seen, case.invalid), verdict)
        if again is None:
            raise NotHeard
        return Reduced(program, dict(inputs)), again, list(seen)

    def _depends_on_history(self, case: Case, verdict: Verdict) -> str:
        """What a fresh process does not show may come of running the same again and again, as a leak does.

        It is kept as large as it is, for each try costs many runs, and once for a target, for its operators explain
        nothing. What even that does not show was seen all the same, and is kept apart.
        """
        key = f"again|{verdict.symptom}|{verdict.target}"
        if self._database.count_again(key):
            return "repeated"
        involved = self._involved(verdict)
        until = time.monotonic() + GRACE + self._config.reduce
        for runs in range(2, TIMES + 1):
            if self._stopping() or time.monotonic() > until:
                break
            again = self._seen_in(case.program, case.inputs, verdict, case.invalid, involved)
            if again is not None:
                again = replace(again, runs=runs, limit=self._config.memory)
                found = _finding_of(case, again, FailingCase(case.program, case.inputs), case.results, key)
                return self._store(replace(found, title=f"{found.title}, after {runs} runs in one process"), case)
        self._suspect(case, verdict, "unrepeatable")
        return "unrepeatable"

    def _store(self, finding: Finding, case: Case) -> str:
        if self._database.count_again(finding.signature):
            return "repeated"
        draft = self._layout.drafts / f"job{case.job}"
        shutil.rmtree(draft, ignore_errors=True)
        python = next(t.interpreter for t in self._runner.targets if t.name == finding.verdict.target)
        seconds = max(120.0, 12 * self._config.timeout)
        finding = write_shown(draft, labelled(finding), seconds=seconds, python=python)
        shutil.rmtree(draft, ignore_errors=True)
        if not self._add(finding):
            return "repeated"
        return "findings" if finding.status is Status.CONFIRMED else "unreplayed"

    def _add(self, finding: Finding) -> bool:
        """Store a finding and write its folder, which can be made from its row at any time; False if it is known."""
        number = self._database.add_finding(row_of(finding))
        if number is not None:
            place_bundle(self._layout, replace(finding, number=number))
        return number is not None

    # ---- judging again ----------------------------------------------------------------------

    def _judge(
        self, program: Program, inputs: Mapping[str, Value], results: Sequence[RunResult], invalid: bool
    ) -> list[Verdict]:
        # What did not come back, or gave nothing, will not tell how values move.
        targets = tuple(r.target for r in results if r.exit is Exit.OK)

        def rerun(other: Mapping[str, Value], moved: Program | None = None, /) -> Sequence[RunResult]:
            return self._runner.run(moved or program, other, targets)

        return judge(program, inputs, results, rerun=rerun, shadow=self._runner.shadow, expected_invalid=invalid)

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
        return jury(verdict, self._heard(verdict))

    def _heard(self, verdict: Verdict) -> tuple[Target, ...]:
        return heard(verdict, self._runner.targets)


def _finding_of(case: Case, verdict: Verdict, small: FailingCase, results: Sequence[RunResult], key: str) -> Finding:
    """What is kept of a case: the part of it that shows the verdict, and under which signature."""
    verdict = marked(verdict, small.program, small.inputs, case.hunt)
    original = FailingCase(case.program, case.inputs)
    found = Finding(
        verdict, small, original, results, trace=case.trace, hunt=case.hunt, job=case.job, iteration=case.iteration
    )
    return replace(found.signed(), signature=key)
