"""A finding of a folder is made small on its own targets, and what does not show here is refused with the reason."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from irfuzz.campaign.stored_findings import finding_reduction
from irfuzz.campaign.stored_findings.finding_reduction import ReductionOutcome, reduce_finding, targets_of
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.findings.finding import Finding, TargetRun
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutation_trace import Trace
from irfuzz.mutate.mutator_protocol import Edit, Relation
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.reduce.resume_folder import ReductionState
from irfuzz.report.repro_scripts.two_form_script import ORACLE
from irfuzz.store.database import Status
from tests.findings.test_pipeline import SMALL, TARGETS, TEXT, VERDICT, Refusing, X, case

pytestmark = pytest.mark.unit

VALID = next(r for r in Relation if r is not Relation.INVALID)
RUNS = tuple(TargetRun(t.name, t.component) for t in TARGETS)


class Opened(Refusing):
    """A runner on targets of which the first refuses every program of one or two nodes."""

    made: tuple[tuple[str, ...], float] = ((), 0.0)
    count = 0

    def __init__(self, targets: Sequence[Target], limits: Limits) -> None:
        super().__init__(1, 2)
        self.targets = tuple(targets)  # type: ignore[assignment]
        Opened.made = tuple(t.name for t in targets), limits.seconds
        Opened.count += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        Opened.count -= 1


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, Finding, dict[str, Any]]]:
    """What is written; targets and runners are those of the test."""
    found: list[tuple[Path, Finding, dict[str, Any]]] = []
    by_name = {t.name: t for t in TARGETS}

    def write_shown(folder: Path, finding: Finding, **options: Any) -> Finding:
        found.append((folder, finding, options))
        return finding

    monkeypatch.setattr(finding_reduction, "Runner", Opened)
    monkeypatch.setattr(finding_reduction, "resolve", lambda names: [by_name[name] for name in names])
    monkeypatch.setattr(finding_reduction, "write_shown", write_shown)
    return found


def stored(text: str = TEXT, original: str = TEXT, **fields: Any) -> Finding:
    return Finding(VERDICT, case(text), case(original), runs=RUNS, **fields)


def reduced(finding: Finding, folder: Path, **options: Any) -> tuple[ReductionOutcome, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    settings: dict[str, Any] = {"seconds": 30.0, "jobs": 1, "original": False, "seeds": {}, **options}
    outcome = reduce_finding(
        finding, folder, folder / "out", folder / "state", progress=lambda *two: told.append(two), **settings
    )
    return outcome, told


def test_a_finding_is_made_small_and_written(tmp_path: Path, written: list[Any]) -> None:
    outcome, told = reduced(stored(), tmp_path)
    assert (outcome.before, outcome.after, outcome.edits, outcome.complete) == (2, 1, None, True)
    assert (outcome.signature, outcome.shown) == ("rejection|bad|compile|no|Neg", True)
    assert outcome.tries == len(told) > 0
    assert [tries for tries, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][1] == 1
    ((folder, finding, options),) = written
    assert folder == tmp_path / "out"
    assert (finding.status, finding.case.program.graph[0].op_type) == (Status.CONFIRMED, "Neg")
    assert options == {"seconds": 120.0, "python": sys.executable}
    assert Opened.made == (("bad", "one", "two"), 10.0)
    assert Opened.count == 0, "they are closed"
    again, told = reduced(stored(), tmp_path)
    assert told == [], "nothing makes it smaller"
    assert again == outcome


def test_those_are_heard_that_the_blamed_target_depends_on(
    tmp_path: Path, written: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def concerned(blamed: Target, targets: Sequence[Target]) -> Sequence[Target]:
        asked.append((blamed.name, *(t.name for t in targets)))
        return targets

    monkeypatch.setattr(finding_reduction, "concerned", concerned)
    reduced(stored(), tmp_path)
    assert asked == [("bad", "bad", "one", "two")]


@pytest.mark.parametrize(("timeout", "patience"), [(9.0, 120.0), (11.0, 132.0)])
def test_a_script_may_take_longer_if_a_run_may(
    tmp_path: Path, written: list[Any], timeout: float, patience: float
) -> None:
    reduced(stored(), tmp_path, timeout=timeout, jobs=2)
    assert written[0][2]["seconds"] == patience
    assert Opened.made[1] == timeout


def test_what_its_script_does_not_show_is_said_not_to_be_shown(
    tmp_path: Path, written: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        finding_reduction, "write_shown", lambda folder, one, **_: replace(one, status=Status.UNREPLAYED)
    )
    outcome, _ = reduced(stored(), tmp_path)
    assert outcome.shown is False


def test_a_target_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a target that contradicts itself"):
        reduced(replace(stored(), verdict=replace(VERDICT, oracle=ORACLE)), tmp_path)


@pytest.mark.parametrize(("original", "before"), [(False, 1), (True, 2)])
def test_it_begins_with_the_small_program_or_the_first(
    tmp_path: Path, written: list[Any], original: bool, before: int
) -> None:
    outcome, _ = reduced(stored(SMALL), tmp_path, original=original)
    assert (outcome.before, outcome.after) == (before, 1)


def edits(*sites: str) -> tuple[Edit, ...]:
    return tuple(Edit("m", 1, site, (), VALID, "") for site in sites)


@pytest.mark.parametrize(
    ("original", "has_seeds", "sites", "asked"),
    [
        (True, True, "abc", True),
        (False, True, "abc", False),
        (True, False, "abc", False),
        (True, True, "", False),
        (True, True, None, False),
    ],
)
def test_edits_are_dropped_from_the_first_program(
    tmp_path: Path,
    written: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    original: bool,
    has_seeds: bool,
    sites: str | None,
    asked: bool,
) -> None:
    seed = case(SMALL).program
    made = Trace.of_seed(seed, "s")
    given = {} if sites is None else replace(made, edits=edits(*sites)).to_json()
    calls: list[tuple[str, ...]] = []

    def fewer(trace: Trace, seeds: object, inputs: object, still: object) -> tuple[Trace, Program]:
        calls.append(tuple(edit.site for edit in trace.edits))
        return replace(trace, edits=trace.edits[:1]), case(TEXT).program

    monkeypatch.setattr(finding_reduction, "fewer_edits", fewer)
    options: dict[str, Any] = {"original": original, "seeds": {seed.digest: seed} if has_seeds else {}}
    outcome, _ = reduced(stored(trace=given), tmp_path, **options)
    assert calls == ([("a", "b", "c")] if asked else [])
    assert outcome.edits == (1 if asked else None)
    assert len(written[0][1].trace.get("edits", ())) == (1 if asked else len(sites or ""))
    assert (outcome.before, outcome.after) == (2, 1), "what is left is made small"
    reduced(stored(trace=given), tmp_path, **options)
    assert len(calls) == asked, "another call goes on from there"


def test_edits_stay_if_none_can_go_or_the_trace_cannot_be_read(
    tmp_path: Path, written: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = case(SMALL).program
    trace = replace(Trace.of_seed(seed, "s"), edits=edits("a")).to_json()
    monkeypatch.setattr(finding_reduction, "fewer_edits", lambda *_: None)
    options: dict[str, Any] = {"original": True, "seeds": {seed.digest: seed}}
    outcome, _ = reduced(stored(trace=trace), tmp_path / "a", **options)
    assert (outcome.edits, written[0][1].trace) == (None, trace)
    outcome, _ = reduced(stored(trace={"schema": 0}), tmp_path / "b", **options)
    assert outcome.edits is None


def work(tmp_path: Path) -> finding_reduction._Reduction:
    return finding_reduction._Reduction(tmp_path / "f", tmp_path, tmp_path / "s", 1.0, {}, lambda *_: None, 60.0)


@pytest.mark.parametrize(
    ("doubt", "told"),
    [
        ("sums differ", r"rejection of bad is a suspect here \(sums differ\), and only findings"),
        ("", r"rejection of bad is a suspect here \(the evidence is too thin\), and only findings"),
    ],
)
def test_a_suspect_is_not_made_small(tmp_path: Path, doubt: str, told: str) -> None:
    thin = replace(VERDICT, suspect=True, doubt=doubt)
    with pytest.raises(UsageError, match=told):
        work(tmp_path).unseen(stored(), [replace(thin, target="one"), thin], [])


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        ([], r"does not show here \(bad rejected, one ok\)$"),
        (
            [replace(VERDICT, target="one")],
            r"\(bad rejected, one ok; seen instead: rejection of one\)$",
        ),
        (
            [Verdict("o", Symptom.DIFFERENCE, "bad", suspect=True)],
            r"\(bad rejected, one ok; seen instead: suspect difference of bad\)$",
        ),
    ],
)
def test_what_shows_instead_is_said(tmp_path: Path, verdicts: list[Verdict], told: str) -> None:
    results = [RunResult(TARGETS[0], Stage.COMPILE, Exit.REJECTED), RunResult(TARGETS[1], Stage.RUN, Exit.OK)]
    with pytest.raises(UsageError, match=told):
        work(tmp_path).unseen(stored(), verdicts, results)


def test_only_the_smallest_case_is_settled_and_stored(tmp_path: Path) -> None:
    one, finding = work(tmp_path), stored()
    with pytest.raises(UsageError, match="does not show it in a fresh process"):
        one.settle(finding)
    one._state = ReductionState(tmp_path / "s", finding.case.program, X, "q")
    assert one.settle(finding) is finding
    with pytest.raises(UsageError, match="does not show it in a fresh process"):
        one.settle(stored())
    one._trace = {"edits": []}
    assert one.settle(finding).trace == {"edits": []}
    assert one.store(finding) is finding
    one.close()
    again = ReductionState(tmp_path / "s", finding.case.program, X, "q")
    again.close()


@pytest.mark.parametrize(("interpreter", "python"), [("", sys.executable), ("/other/python", "/other/python")])
@pytest.mark.parametrize("name", ["bad", "one"])
def test_a_script_runs_in_the_interpreter_of_its_target(
    tmp_path: Path, written: list[Any], interpreter: str, python: str, name: str
) -> None:
    """That of another target does not matter."""
    own = replace(TARGETS[0], name=name, interpreter=interpreter)
    finding = replace(stored(), results=[RunResult(own, Stage.COMPILE, Exit.REJECTED)])
    shown = work(tmp_path).replay(replace(finding, status=Status.UNREPLAYED))
    assert shown.status is Status.CONFIRMED
    assert written[0][2] == {"seconds": 60.0, "python": python if name == "bad" else sys.executable}


@pytest.mark.parametrize(
    ("slow", "missing", "found"),
    [
        ("", "", ("bad", "one", "two")),
        ("one", "", ("bad", "two")),
        ("one two", "", ("bad", "one", "two")),
        ("bad", "", ("bad", "one", "two")),
        ("", "one", ("bad", "two")),
        ("", "one two", ("bad",)),
        ("", "bad one", None),
    ],
)
def test_which_targets_of_a_finding_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: str, missing: str, found: tuple[str, ...] | None
) -> None:
    def resolve(names: Sequence[str]) -> list[Target]:
        (name,) = names
        if name in missing.split():
            raise UsageError(f"{name} is not installed")
        return [Target(name, name, slow=name in slow.split())]

    monkeypatch.setattr(finding_reduction, "resolve", resolve)
    finding = replace(stored(), runs=(RUNS[1], RUNS[0], RUNS[2]))
    if found is None:
        with pytest.raises(UsageError, match="its target cannot be used here: bad is not installed"):
            targets_of(finding, tmp_path)
    else:
        assert tuple(t.name for t in targets_of(finding, tmp_path)) == found
