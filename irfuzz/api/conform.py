"""``irfuzz.conform`` reports, by operator, how many cases of known result targets get right, wrong, or refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irfuzz import __version__
from irfuzz.api.default_settings import CHECK_MEMORY, CHECK_TIMEOUT, CONFORM_SLOW_SAMPLE
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.api.target_selection import named
from irfuzz.conformance.case_selection import cases_of
from irfuzz.conformance.case_types import CaseSource, ConformanceCase
from irfuzz.conformance.conformance_run import Assignment, ConformanceRun
from irfuzz.conformance.result_folder import ResultFolder
from irfuzz.conformance.target_results import TargetResults, document
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.isolate import Limits
from irfuzz.report.ci_reports.conformance_junit import as_junit
from irfuzz.report.command_reports import conformance_table as written
from irfuzz.report.pages.conformance_page import as_html

WITNESSES = ("reference", "onnxruntime:disabled", "torch:eager", "numpy:eager")
"""Those of these that are installed judge every target of another component."""


@dataclass(frozen=True, slots=True)
class ConformReport:
    """What targets made of the cases.

    Attributes:
        targets: in the order in which they were asked for.
        witnesses: that judged them, with versions.
        left_out: cases that irfuzz itself cannot take in, with the reason.
    """

    targets: tuple[TargetResults, ...]
    witnesses: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def faults(self) -> int:
        """How many cases targets get wrong, die of or hang with."""
        return sum(written.faults_of(one) for one in self.targets)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data, as ``irfuzz conform --json`` prints it."""
        return document(self.targets, witnesses=list(self.witnesses), left_out=dict(self.left_out))

    def to_junit(self) -> str:
        """JUnit XML: a suite for each target, a test for each case."""
        return as_junit(self.targets)

    def to_html(self) -> str:
        """A page that needs nothing else."""
        return as_html(self.targets, self.witnesses)

    def __str__(self) -> str:
        """The tables for people, as ``irfuzz conform`` prints them."""
        return written.as_text(self.targets, self.left_out)


def conform(
    targets: Sequence[str | Target],
    *,
    cases: Sequence[str] | None = None,
    ops: Sequence[str] | None = None,
    sample: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
    timeout: float | None = None,
    out: str | Path | None = None,
    progress: Observer[ConformReport] = unobserved,
) -> ConformReport:
    """Run cases whose results are known on targets, and judge each with the numeric oracle.

    Example:
        >>> import irfuzz
        >>> report = irfuzz.conform(["onnxruntime:all"], cases=["node"], ops=["TopK"])
        >>> report.targets[0].target, report.faults
        ('onnxruntime:all', 0)

    Args:
        targets: what is judged: names as in ``irfuzz targets``, or ``Target``.
        cases: some of ``node``, ``bug``, ``seed`` and ``drawn``. Default: all.
        ops: names of operators, those of other domains with the domain in front; cases about others are left out.
        sample: how many cases of all are run, drawn with ``seed``. Default: all, and of slow targets 300.
        seed: of the sample and of drawn calls.
        seconds: after which no more cases are begun. Default: no limit.
        timeout: seconds that one target may take with one case. Default: 30.
        out: a folder that keeps results, by target and version; what is kept there is not run again.
        progress: gets an ``Update`` for each few cases.

    Returns:
        A row for each target.

    Raises:
        UsageError: a target, source of cases or operator is unknown, or a target cannot be used.
    """
    chosen = named(targets)
    sources = _sources(cases)
    if sample is not None and sample < 1:
        raise UsageError(f"sample: expected at least 1, got {sample}")
    progress(Update("making cases"))
    every = cases_of(sources, ops, seed)
    beside = _beside(chosen)
    patience = timeout or CHECK_TIMEOUT
    # On a machine where a case takes long, imports do, too.
    start = max(Limits().start_seconds, 4 * patience)
    limits = Limits(seconds=patience, memory_bytes=CHECK_MEMORY << 20, start_seconds=start)
    progress(Update("starting targets"))
    with Runner(_once([*chosen, *beside]), limits) as runner:
        started = {target.name: target for target in runner.targets}
        judges = [started[target.name] for target in beside]
        folder = ResultFolder(None if out is None else Path(out), _judged_by(judges))
        assignments = [_assignment(started[target.name], every, sample) for target in chosen]
        run = ConformanceRun(runner, assignments, judges, folder, seconds)

        def report() -> ConformReport:
            told = tuple(f"{target.name} {target.version}" for target in judges)
            return ConformReport(tuple(run.results()), told, dict(run.left_out))

        asked = [case for case in every if any(case.name in one.cases for one in assignments)]
        progress(Update("conforming", 0, len(asked), "cases", so_far=report))
        run.run(asked, lambda done: progress(Update("conforming", done, len(asked), "cases")))
        return report()


def _sources(names: Sequence[str] | None) -> list[CaseSource]:
    if names is None:
        return list(CaseSource)
    known = [source.value for source in CaseSource]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise UsageError(f"cases: expected some of {', '.join(known)}, got {', '.join(unknown) or 'none'}")
    return [source for source in CaseSource if source.value in names]


def _beside(targets: Sequence[Target]) -> list[Target]:
    """What runs every case beside the targets: the witnesses that are installed, and what tools start from."""
    found: list[Target] = []
    for name in dict.fromkeys([*WITNESSES, *(target.before for target in targets if target.before)]):
        try:
            found += resolve([name])
        except UsageError:
            continue  # it is not installed
    return found


def _assignment(target: Target, cases: Sequence[ConformanceCase], sample: int | None) -> Assignment:
    count = sample if sample is not None else CONFORM_SLOW_SAMPLE if target.slow else len(cases)
    return Assignment(target, frozenset(case.name for case in cases[:count]), len(cases), count < len(cases))


def _judged_by(witnesses: Sequence[Target]) -> str:
    return ", ".join([f"irfuzz {__version__}", *(f"{target.name} {target.version}" for target in witnesses)])


def _once(targets: Sequence[Target]) -> list[Target]:
    return list({target.name: target for target in targets}.values())
