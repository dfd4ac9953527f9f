"""Runs cases on targets beside their witnesses, and keeps what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from irfuzz.conformance.case_judge import ENDED, CaseJudge, witnesses_for
from irfuzz.conformance.case_types import CaseRun, ConformanceCase
from irfuzz.conformance.result_folder import ResultFolder
from irfuzz.conformance.target_results import CaseOutcome, TargetResults, ordered
from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import RunResult, Target
from irfuzz.execute.runner import Runner

TOGETHER = 16
"""Cases that run together."""

SAVE = 10.0
"""Seconds between two times that results are written."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one target is to run.

    Attributes:
        target: as the runner started it.
        cases: names of its cases.
        of: how many cases there were to choose from.
        sampled: a sample was asked for.
    """

    target: Target
    cases: frozenset[str]
    of: int
    sampled: bool = False


@dataclass
class ConformanceRun:
    """Runs cases; ``results`` may be asked for at any time.

    Attributes:
        runner: open; has the targets and their witnesses.
        assignments: of the targets that are judged.
        witnesses: that run every case.
        folder: keeps the results.
        seconds: after which no more cases are begun; ``None`` for no limit.
        left_out: why, by the name of the case: irfuzz itself cannot take it in.
    """

    runner: Runner
    assignments: Sequence[Assignment]
    witnesses: Sequence[Target]
    folder: ResultFolder
    seconds: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    _outcomes: dict[str, dict[str, CaseOutcome]] = field(default_factory=dict)
    _kept: dict[str, Mapping[str, CaseOutcome]] = field(default_factory=dict)
    _saved: float = 0.0

    def run(self, cases: Sequence[ConformanceCase], tell: Callable[[int], None] = lambda _: None) -> None:
        """Run the cases that targets are to run and of which no result is kept.

        Args:
            cases: in the order in which they run.
            tell: told how many are done.

        Raises:
            UsageError: results that are kept cannot be read, or new ones cannot be written.
        """
        began = self._saved = time.monotonic()
        for one in self.assignments:
            # A class of a user's changes without its version.
            fixed = one.target.version and "class" not in one.target.options
            self._kept[one.target.name] = self.folder.kept(one.target.name, one.target.version) if fixed else {}
            self._outcomes[one.target.name] = {}
        for done, batch in _batches(cases):
            tell(done)
            if self.seconds is not None and time.monotonic() - began > self.seconds:
                break
            self._run(batch)
            if time.monotonic() - self._saved > SAVE:
                self._save()
        self._save()

    def results(self) -> list[TargetResults]:
        """What is known of each target, in the order of the assignments."""
        found: list[TargetResults] = []
        for one in self.assignments:
            outcomes = ordered(list(self._outcomes.get(one.target.name, {}).values()))
            found.append(TargetResults(one.target.name, one.target.version, outcomes, one.of, one.sampled))
        return found

    def _run(self, cases: Sequence[ConformanceCase]) -> None:
        """Run some cases together, each on the targets that lack a result of it, and judge them."""
        asked: list[tuple[ConformanceCase, CaseRun, str, list[Target]]] = []
        for case in cases:
            wanted = [one.target for one in self.assignments if case.name in one.cases]
            made = self._made(case) if wanted else None
            if made is None:
                continue
            digest = made.digest()
            missing = [target for target in wanted if not self._recalled(target, case.name, digest)]
            if missing:
                asked.append((case, made, digest, missing))
        tasks = [Task(made.program, made.inputs, _once([*missing, *self.witnesses])) for _, made, _, missing in asked]
        for (case, made, digest, missing), results in zip(asked, self.runner.run_all(tasks), strict=True):
            by_name = {result.target.name: result for result in results}
            witnesses = [by_name[target.name] for target in self.witnesses]
            judge = CaseJudge(self.runner, made)
            for target in missing:
                result = self._settled(by_name[target.name], made)
                verdict = judge.verdict(result, witnesses_for(target, witnesses))
                outcome = CaseOutcome(
                    case.name, case.operator, made.types(), digest, verdict.status, verdict.detail, verdict.known
                )
                self._outcomes[target.name][case.name] = outcome

    def _made(self, case: ConformanceCase) -> CaseRun | None:
        try:
            return case.make()
        except (InvalidProgram, Unsupported) as error:
            self.left_out[case.name] = str(error)
            return None

    def _recalled(self, target: Target, case: str, digest: str) -> bool:
        kept = self._kept[target.name].get(case)
        if kept is None or kept.digest != digest:
            return False
        self._outcomes[target.name][case] = kept
        return True

    def _settled(self, result: RunResult, made: CaseRun) -> RunResult:
        """A result; if the process ended, that of the target alone in a new one."""
        if result.exit not in ENDED:
            return result
        return self.runner.run_fresh(made.program, made.inputs, [result.target])[0]

    def _save(self) -> None:
        for one in self.results():
            kept = {**self._kept[one.target], **{outcome.case: outcome for outcome in one.outcomes}}
            self.folder.keep(TargetResults(one.target, one.version, ordered(kept.values()), one.of, one.sampled))
        self._saved = time.monotonic()


def _batches(cases: Sequence[ConformanceCase]) -> Iterable[tuple[int, list[ConformanceCase]]]:
    """The cases in batches, each with how many come before it."""
    every, done = iter(cases), 0
    while batch := list(islice(every, TOGETHER)):
        yield done, batch
        done += len(batch)


def _once(targets: Sequence[Target]) -> list[Target]:
    return list({target.name: target for target in targets}.values())
