"""What one job does with disagreements: which of them go through the pipeline of findings, when and how."""

from __future__ import annotations

import math
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.stored_findings.archive import (
    FAILED,
    KNOWN,
    NEW,
    UNFINISHED,
    UNREPEATABLE,
    UNREPLAYED,
    CampaignArchive,
    words_of,
)
from irfuzz.campaign.targets.operator_support import identity
from irfuzz.campaign.triage.case_queue import TriageCase
from irfuzz.campaign.triage.stored_case_queue import StoredQueue
from irfuzz.campaign.triage.suspect_proof_search import OPEN, SuspectMeans, Suspects
from irfuzz.campaign.triage.time_budget import GRACE, TriageBudget
from irfuzz.campaign.triage.time_budget import KNOWN as KNOWN_WORTH
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import RunResult, Target
from irfuzz.execute.runner import PATIENCE, Runner
from irfuzz.findings.blame.affected_versions import AffectedVersions
from irfuzz.findings.confirming_targets import heard, jury
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate, same_fault
from irfuzz.findings.finding import Finding
from irfuzz.findings.pipeline import FindingReproducer, steps
from irfuzz.findings.suspect_finding_groups import group_of
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle.fault_signature import operators_of
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.reduce import reduce_case

TIMES = 32
"""How often one program runs in one process before what it showed among others counts as not repeatable."""

MILLISECONDS = "milliseconds of triage"
"""Name of a count."""

WORTH = {NEW: 1.0, UNREPLAYED: 1.0, KNOWN: KNOWN_WORTH}
"""What a case is worth by what it came to, for the share of triage."""

SUSPECTS = 0.5
"""Part of the time for triage up to which suspects are looked into."""

PART = 0.5
"""Of the time in which a finding is made small a suspect has so much: most of them stay what they are."""

ALONE = 0.5
"""Of that time so much may go into running its nodes alone; the rest is for smaller programs."""

DEADLY = 3
"""Failures or deaths during the triage of a case, after which it is kept as it was seen."""

SET_ASIDE = "failed in triage"
"""Name of a count."""

TOLD_OF_FAILED = "nothing: irfuzz failed each time that it looked into this"

CUT = frozenset(
    {Symptom.REJECTION, Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE, Symptom.DIFFERENCE, Symptom.NAN_INF}
)  # fmt: skip
"""Symptoms whose suspects are looked into."""

CUT_NODES = 150
"""Of programs with more nodes no suspects are."""


def _undecided(verdict: Verdict) -> bool:
    """Whether running it again on moved inputs may make a finding of a suspect."""
    if "could not be measured" in verdict.doubt:
        return verdict.symptom in (Symptom.DIFFERENCE, Symptom.NAN_INF)
    return verdict.symptom is Symptom.DIFFERENCE and "does not exceed" in verdict.doubt


class Triage:
    """What one job does with disagreements; shares a runner with it.

    Args:
        layout: where drafts and folders go.
        waiting: what waits for triage, in the database to which findings go.
        runner: has the job's targets.
        config: of the campaign.
        stopping: true once the job was asked to end; a finding is then kept as large as it is.
        longest: seconds that making a finding of a slow target small may take.
        patience: seconds after which a finding has to be stored, as it then is.
        aside: names of targets that fail on everything, and are asked about nothing but what they are blamed for.
    """

    def __init__(
        self,
        layout: Layout,
        waiting: StoredQueue,
        runner: Runner,
        config: Config,
        stopping: Callable[[], bool] = lambda: False,
        longest: float = math.inf,
        patience: Callable[[], float] = lambda: math.inf,
        aside: Collection[str] = frozenset(),
    ) -> None:
        self._aside = aside
        self._stopping = stopping
        self._longest = longest
        self._runner = runner
        self._config = config
        versions = AffectedVersions(runner, Limits(seconds=config.timeout, memory_bytes=config.memory), stopping)
        weakref.finalize(self, versions.close)
        self._archive = CampaignArchive(layout, waiting.database, config, versions, patience, self._identity)
        recognised = self._archive.recognised
        self._likely, self._tried = recognised.likely, recognised.tried
        self._bench = FindingReproducer(
            [runner], self._involved, self._heard, self._shrunk, self._unseen, self._unheard, stopping
        )  # fmt: skip
        means = SuspectMeans(runner, self._bench, self._archive, self._heard, PART * config.reduce, longest, stopping)
        self._suspects = Suspects(means, self._came_to)
        self._began = time.monotonic()
        self._budget = TriageBudget(tuple(t.name for t in runner.targets), resumed=bool(waiting))
        self._waiting = waiting

    def knows(self, verdict: Verdict, program: Program) -> bool:
        """Whether a verdict is a stored finding's by its message alone; it is not counted.

        Args:
            verdict: what is seen.
            program: on which.
        """
        return self._archive.recognises(verdict, program)

    def look(self, found: Sequence[Finding], counts: Counter[str]) -> None:
        """Let wait what is new about a program, and count what is not.

        Nothing is looked into before it is stored: ``work`` does that.

        Args:
            found: what targets disagree on, as all of them were heard; nothing was run again for it.
            counts: of the job.
        """
        start = time.monotonic()
        for finding in found:
            verdict, program = finding.verdict, finding.case.program
            words = words_of(verdict, program)
            suspect = verdict.suspect and not _undecided(verdict)
            counts["suspect runs"] += suspect
            if self._archive.knows(verdict, program):
                counts["repeated"] += 1
                continue
            if suspect:
                finding = self._archive.keep_suspect(replace(finding, group=group_of(verdict, program)))
                if verdict.invalid or verdict.symptom not in CUT or len(program.nodes()) > CUT_NODES:
                    continue
            again = self._likely.knows(verdict, program, words)
            if suspect:
                if not again:
                    self._let_wait(finding, words, counts)
                continue
            if again and self._likely.again(verdict, program, words):
                counts["likely repeated"] += 1
                continue
            operators = frozenset(operators_of(verdict, program))
            finding = replace(finding, verdict=replace(verdict, suspect=False))
            item = TriageCase(finding, words, operators, len(program.nodes()), again)
            counts["let go"] += self._waiting.add(item)
        self._took("", start, counts)

    def _let_wait(self, suspect: Finding, words: str, counts: Counter[str]) -> None:
        """Let a suspect wait; of a group one does, and after one was looked into few do."""
        known = self._tried.knows(suspect.group)
        if self._tried.again(suspect.group):
            counts["suspects repeated"] += 1
            return
        size = len(suspect.case.program.nodes())
        item = TriageCase(suspect, words, frozenset({suspect.group}), size, again=known)
        counts["let go"] += self._waiting.add(item)

    def work(self, counts: Counter[str]) -> None:
        """Look into what waits, as far as there is time.

        Args:
            counts: of the job; what each case came to is added, and how many still wait is set.
        """
        self._archive.recognised.learn()
        while not self._stopping():
            start = time.monotonic()
            self._budget.passes(start - self._began)
            item = self._waiting.take(self._affords)
            if item is None:
                break
            came_to = self._settled(item)
            self._took(item.finding.verdict.target, start, counts)
            if came_to:
                counts[came_to] += 1
            counts["triaged"] += 1
        counts["untriaged"] = len(self._waiting)
        self._archive.recognised.tell()

    def _settled(self, item: TriageCase) -> str | None:
        """What one case comes to, which then waits no more, unless that is ``None`` or ``UNFINISHED``.

        A case at which whoever looked into it failed or died waits again, and is kept as it is the ``DEADLY``th time.
        """
        try:
            whole = self._waiting.whole(item, self._runner.targets)
            came_to = self._look_into(whole) if item.strikes < DEADLY else self._set_aside(whole.finding)
        except UsageError:
            raise  # of the disk, or a worker that does not start any more: the case waits in the database
        except Exception:
            self._waiting.strike(item)
            raise
        if came_to == UNFINISHED.reason:
            kept = replace(item.finding, doubted=self._archive.unfinished)
            self._waiting.put_back(replace(item, finding=kept))
        elif came_to is None:
            self._waiting.put_back(replace(item, again=True))
        else:
            self._waiting.done(item)
        return came_to

    def _set_aside(self, finding: Finding) -> str:
        """Keep a case as it was seen, at which irfuzz itself failed."""
        finding = replace(finding, results=self._answers(finding), printed=TOLD_OF_FAILED)
        self._archive.keep_suspect(finding, FAILED)
        return SET_ASIDE

    def _look_into(self, item: TriageCase) -> str | None:
        """What one case comes to, for a count: ``None`` if it waits again, nothing if it is a known fault's suspect."""
        verdict, program = item.finding.verdict, item.finding.case.program
        earlier = self._waiting.is_earlier(item)  # then what became known meanwhile takes no turn from it
        if item.finding.doubted and not self._archive.doubts(item.finding):
            return "repeated"
        if self._archive.knows(verdict, program, doubted=item.finding.doubted):
            return "repeated"
        if verdict.suspect:
            group = item.finding.group
            if not earlier and self._likely.knows(verdict, program, item.words):
                return ""
            if not (item.again or earlier) and self._tried.again(group):  # another variant of the component came first
                return "suspects repeated"
            self._tried.add(group)
            came_to = self._suspects.look_into(item.finding)
            if self._stopping() and came_to == OPEN:
                return None  # its search was cut short
            if came_to != UNFINISHED.reason:
                self._archive.recognised.looked_into(group)
        elif item.again or not self._likely.knows(verdict, program, item.words):
            came_to = self._came_to(item.finding)
        elif earlier:
            return None
        elif self._likely.again(verdict, program, item.words):  # it became known while this one waited
            return "likely repeated"
        else:
            return None
        self._budget.came_to(WORTH.get(came_to, 0.0))
        return came_to

    def _affords(self, item: TriageCase) -> bool:
        """Whether there is time for what waits; suspects, most of which are none alone, get half of it at most.

        What targets are blamed for that do not run now waits until they do.
        """
        verdict = item.finding.verdict
        if item.strikes > DEADLY or all(target.name != verdict.target for target in self._runner.targets):
            return False
        return self._budget.allows(verdict.target, SUSPECTS if verdict.suspect else 1.0)

    def _took(self, target: str, since: float, counts: Counter[str]) -> None:
        seconds = time.monotonic() - since
        self._budget.took(target, seconds)
        counts[MILLISECONDS] += round(1000 * seconds)

    # ---- the two ways -----------------------------------------------------------------------

    def _came_to(self, finding: Finding) -> str:
        """Send a disagreement through the pipeline; returns what to count."""
        return self._archive.take(finding, steps(self._bench, self._archive))

    def _unseen(self, finding: Finding, verdicts: Sequence[Verdict], results: Sequence[RunResult]) -> str:
        """What fresh processes do not show is explained once all is measured, or depends on what ran before."""
        del verdicts, results
        told = self._explained(finding)
        if not told and finding.case is finding.original:
            told = self._depends_on_history(finding)
        return told or UNREPEATABLE

    def _unheard(self, finding: Finding) -> str:
        """What a few witnesses say against a target, all of them together may not."""
        return self._explained(finding) or "explained by rounding"

    def _explained(self, finding: Finding) -> str:
        """What to count if measuring explains what was seen; empty if it was one and does not show again."""
        verdict = finding.verdict
        verdicts = self._bench.judge(finding.case, self._answers(finding), invalid=verdict.invalid)
        if same_fault(verdicts, verdict) is not None:
            return ""
        for one in verdicts:
            if one.suspect and (one.symptom, one.target) == (verdict.symptom, verdict.target):
                self._archive.keep_suspect(replace(finding, verdict=one, original=finding.case))
                return "suspect runs"
        return "explained by rounding"

    def _answers(self, finding: Finding) -> Sequence[RunResult]:
        """What targets did when it was seen; what they do now if that was too much to be stored."""
        return finding.results or self._bench.run(finding.case, self._heard(finding.verdict), fresh=False)

    def _shrunk(self, finding: Finding, watch: FaultPredicate) -> FailingCase:
        """The smallest case within the time that a finding is given."""
        program, inputs = finding.case.program, finding.case.inputs
        slow = any(t.slow for t in self._involved(finding.verdict))
        usual = self._config.reduce
        seconds = min(usual * PATIENCE, max(usual, self._longest)) if slow else usual
        each = max((run.seconds for run in finding.results), default=0.0)
        began = time.monotonic()
        some = not self._stopping() and each <= seconds
        starts = watch.faulty_parts(program, inputs, until=began + ALONE * seconds) if some else []
        small = reduce_case(
            program, inputs, watch.still, values_of=watch.values_of, each=each, starts=starts,
            seconds=began + seconds - time.monotonic(),
        )  # fmt: skip
        return FailingCase(small.program, small.inputs, settled=small.settled)

    def _depends_on_history(self, finding: Finding) -> str:
        """What a fresh process does not show may come of running the same again and again, as a leak does.

        It is kept as large as it is, for each try costs many runs, and once for a target, for its operators explain
        nothing. What even that does not show was seen all the same, and is kept apart.
        """
        verdict = finding.verdict
        key = f"again|{verdict.symptom}|{verdict.target}"
        if self._archive.count_again(key):
            return "repeated"
        involved = self._involved(verdict)
        until = time.monotonic() + GRACE + self._config.reduce
        for runs in range(2, TIMES + 1):
            if self._stopping() or time.monotonic() > until:
                break
            results = self._bench.run(finding.case, involved, fresh=False)
            again = same_fault(self._bench.judge(finding.case, results, invalid=verdict.invalid), verdict)
            if again is not None:
                again = replace(again, runs=runs, limit=self._config.memory)
                found = replace(finding, verdict=again).signed()
                found = replace(
                    found, signature=key, cause=None, title=f"{found.title}, after {runs} runs in one process"
                )
                return self._archive.take(found, (self._archive.replay, self._archive.store))
        self._archive.keep_suspect(finding, UNREPEATABLE)
        return UNREPEATABLE

    def _identity(self, target: str) -> str:
        return next((identity(t) for t in self._runner.targets if t.name == target), "")

    def _involved(self, verdict: Verdict) -> tuple[Target, ...]:
        return jury(verdict, self._heard(verdict))

    def _heard(self, verdict: Verdict) -> tuple[Target, ...]:
        targets = self._runner.targets
        return heard(verdict, [t for t in targets if t.name == verdict.target or t.name not in self._aside])
