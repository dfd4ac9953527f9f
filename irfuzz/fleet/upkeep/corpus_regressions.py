"""Runs a part of a fleet's corpus on a new release and the one before it; what only the new one does is a finding."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select

from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.stored_findings.archive import KNOWN, NEW, REPEATED, CampaignArchive
from irfuzz.errors import InternalError, InvalidProgram, Unsupported, UsageError
from irfuzz.execute.run_types import Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import adapter_of, resolve
from irfuzz.execute.versions.releases import ensure, few_variants, variants_in
from irfuzz.findings.confirming_targets import heard, jury
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.findings.finding import Finding, VersionAnswer
from irfuzz.findings.pipeline import FindingReproducer, steps
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.fleet.agent_registry import JOB_RANGE
from irfuzz.fleet.fleet_schema import SHARED_PROGRAM
from irfuzz.fleet.program_exchange import trace_text_of
from irfuzz.fleet.program_replay import StoredSeeds
from irfuzz.fleet.upkeep.release_following import components_of, followed_releases, replay_of
from irfuzz.fleet.upkeep.work_request import WorkPlace, WorkResult
from irfuzz.generate.input_values import make_inputs
from irfuzz.isolate import Limits
from irfuzz.mutate.mutation_trace import Trace
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.oracle import MeasuringJudge
from irfuzz.oracle.verdict import Verdict
from irfuzz.reduce import reduce_case
from irfuzz.store.database import Database

JOB = JOB_RANGE - 1
"""Job under which an agent's folder has what was found so; no campaign has so many."""

WITNESSES = 3
"""Targets of other components that are asked, too; of two releases that differ they say which is wrong."""


def replay_part(place: WorkPlace) -> WorkResult:
    """Run a part of the corpus on two releases; regressions become findings of the agent's folder, which gives them.

    Args:
        place: of the work; its item is of ``replay_item``.

    Raises:
        UsageError: a release or a witness is not there.
    """
    distribution, new, old, part, parts = replay_of(place.request.item)
    layout = Layout(Path(place.request.out))
    with closing(Database(layout.database)) as database:
        config = Config.from_json(database.settings()["config"])
        targets = _compared(place, distribution, new, old)
        with Runner(targets.every, Limits(seconds=config.timeout, memory_bytes=config.memory)) as runner:
            work = _Replay(layout, database, config, runner, targets, _previous(place, distribution, new))
            programs = [work.look(row, place) for row in _rows(place, part, parts)]
    found = sum(one.found for one in programs)
    unread = sum(one.unread for one in programs)
    told = f"{len(programs)} programs, {found} regressions"
    return WorkResult(f"{told}, {unread} could not be run" if unread else told)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Variants of the two releases, and who bears witness."""

    new: tuple[Target, ...]
    old: tuple[Target, ...]
    witnesses: tuple[Target, ...]

    @property
    def every(self) -> tuple[Target, ...]:
        return (*self.new, *self.old, *self.witnesses)


@dataclass(frozen=True, slots=True)
class _Looked:
    """What became of one program."""

    found: int = 0
    unread: bool = False


def _compared(place: WorkPlace, distribution: str, new: str, old: str) -> _Compared:
    own = resolve(place.request.targets)
    components = components_of(distribution)
    components = components & {t.component for t in own} or components  # onnx alone brings a dozen tools
    few = [t for name in sorted(components) for t in _few(name)]
    if not few:
        raise UsageError(f"no target of {distribution} can be run here to be compared")
    both = [variants_in(few, ensure(distribution, version, lambda text: None)) for version in (new, old)]
    others = [t for t in own if distribution not in _packages(t) and not t.slow]
    if not others and "reference" not in components:
        others = list(resolve(["reference"]))
    return _Compared(tuple(both[0]), tuple(both[1]), tuple(others[:WITNESSES]))


def _packages(target: Target) -> tuple[str, ...]:
    """What pip calls the component of a target; it bears no witness on a release of the same package."""
    return adapter_of(target).distributions


def _few(component: str) -> list[Target]:
    try:
        return few_variants([t for t in resolve([component]) if not t.environment])
    except (UsageError, IndexError):
        return []  # a component of this distribution that needs another package, too


def _previous(place: WorkPlace, distribution: str, new: str) -> str | None:
    """The release before the new one on the index."""
    with place.store.transaction() as connection:
        known = followed_releases(connection, distribution)
    return next((one.previous for one in known if one.version == new), None)


def _rows(place: WorkPlace, part: int, parts: int) -> Iterator[Any]:
    """Rows of a part of the corpus, each program once, in an order of their own."""
    query = select(SHARED_PROGRAM.c.digest, SHARED_PROGRAM.c.agent, SHARED_PROGRAM.c.sequence)
    with place.store.transaction() as connection:
        rows = connection.execute(query.where(SHARED_PROGRAM.c.dropped == 0)).all()
    mine = {row.digest: row for row in rows if int(row.digest[:8], 16) % parts == part}
    for digest in sorted(mine):
        key = (SHARED_PROGRAM.c.agent == mine[digest].agent) & (SHARED_PROGRAM.c.sequence == mine[digest].sequence)
        with place.store.transaction() as connection:
            row = connection.execute(select(SHARED_PROGRAM).where(key)).one_or_none()
        if row is not None:  # else it was dropped long ago, and has left meanwhile
            yield row


class _Replay:
    """Runs programs on two releases."""

    def __init__(
        self, layout: Layout, database: Database, config: Config, runner: Runner, targets: _Compared,
        previous: str | None,
    ) -> None:  # fmt: skip
        self._runner, self._targets, self._config, self._previous = runner, targets, config, previous
        self._there = tuple(runner.targets)
        self._archive = CampaignArchive(layout, database, config, self._with_versions)
        self._bench = FindingReproducer(
            [runner], partial(self._enough, jury), partial(self._enough, heard), self._shrunk,
            lambda finding, verdicts, results: "not seen again", lambda finding: "not seen by all",
        )  # fmt: skip

    def look(self, row: Any, place: WorkPlace) -> _Looked:
        """Run one program; what it shows of the new release alone becomes a finding."""
        try:
            trace = Trace.from_text(trace_text_of(row.trace))
            if any(edit.relation is Relation.INVALID for edit in trace.edits):
                return _Looked()
            program = StoredSeeds(place.store, place.blobs).made(row)
            inputs = make_inputs(program, int(row.digest[:8], 16))
            runs = self._runner.run(program, inputs, self._there)
            verdicts = MeasuringJudge(self._runner, wrong_here).judge(program, inputs, runs)
        except (InvalidProgram, Unsupported, InternalError):
            return _Looked(unread=True)
        case, at = FailingCase(program, inputs), int(row.iteration)
        found = 0
        for verdict in self._regressions(verdicts):
            finding = Finding(verdict, case, case, runs, trace=trace.to_json(), job=JOB, iteration=at)
            found += self._archive.take(finding, steps(self._bench, self._archive)) in (NEW, KNOWN, REPEATED.reason)
        return _Looked(found)

    def _regressions(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Verdicts on the new release that nothing like them says of the old one; one for each symptom."""
        new, old = ({t.name for t in some} for some in (self._targets.new, self._targets.old))
        before = {v.symptom for v in verdicts if v.target in old or not old.isdisjoint(v.blamed)}
        first: dict[Any, Verdict] = {}
        for verdict in verdicts:
            if verdict.target in new and not verdict.suspect and verdict.symptom not in before:
                first.setdefault(verdict.symptom, verdict)
        return list(first.values())

    def _with_versions(self, finding: Finding) -> Finding:
        """The finding with what both releases do."""
        new = next(t for t in self._there if t.name == finding.verdict.target)
        variant, olds = new.name.partition(":")[2], {t.name for t in self._targets.old}
        older = [t for t in self._there if t.name in olds]
        if not older:
            return finding
        old = next((t for t in older if t.name.partition(":")[2] == variant), older[0])
        answers = (
            VersionAnswer(old.name, old.version, old.environment, shows=False),
            VersionAnswer(
                new.name, new.version, new.environment, shows=True, signature=finding.signature,
                previous=self._previous,
            ),
        )  # fmt: skip
        return replace(finding, shown=answers)

    def _enough(
        self, which: Callable[[Verdict, Sequence[Target]], tuple[Target, ...]], verdict: Verdict
    ) -> tuple[Target, ...]:
        """Targets that are enough; the old release is always asked, so that a case does not become an older fault."""
        chosen = which(verdict, self._there)
        names = {t.name for t in (*chosen, *self._targets.old)}
        return tuple(t for t in self._there if t.name in names)

    def _shrunk(self, finding: Finding, watch: FaultPredicate) -> FailingCase:
        program, inputs = finding.case.program, finding.case.inputs
        until = time.monotonic() + self._config.reduce
        each = max((run.seconds for run in finding.results), default=0.0)
        starts = watch.faulty_parts(program, inputs, until=time.monotonic() + self._config.reduce / 2)
        small = reduce_case(
            program, inputs, watch.still, values_of=watch.values_of, each=each, starts=starts,
            seconds=max(0.0, until - time.monotonic()),
        )  # fmt: skip
        return FailingCase(small.program, small.inputs, settled=small.settled)
