"""Which disagreements wait, are counted or are looked into, and what those come to that do not show again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.stored_findings.archive import UNFINISHED
from irfuzz.campaign.triage import disagreement_handling
from irfuzz.campaign.triage.case_queue import TriageCase
from irfuzz.campaign.triage.disagreement_handling import (
    CUT,
    CUT_NODES,
    DEADLY,
    MILLISECONDS,
    SET_ASIDE,
    SUSPECTS,
    TIMES,
    TOLD_OF_FAILED,
    WORTH,
    Triage,
    _undecided,
)
from irfuzz.campaign.triage.stored_case_queue import StoredQueue
from irfuzz.campaign.triage.suspect_proof_search import OPEN
from irfuzz.campaign.triage.time_budget import GRACE
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.runner import PATIENCE
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.store.database import Database
from irfuzz.store.fault_marks import OperatorsKey
from tests.campaign.shelf import Shelf

pytestmark = pytest.mark.unit

X = {"x": np.array([1, 2], np.float32)}
TARGETS = (Target("bad", "bad"), Target("one", "one"), Target("two", "two"))
VERDICT = Verdict("o", Symptom.DIFFERENCE, "bad", ("one", "two"), output="y", distance=1.0)
SUSPECT = replace(VERDICT, suspect=True, doubt="sums may be added in another order")


def program(*ops: str) -> Program:
    names = ["x", *(f"v{n}" for n in range(1, len(ops))), "y"]
    body = " ".join(f"{names[n + 1]} = {op} ({names[n]})" for n, op in enumerate(ops))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


WHOLE, SMALL = program("Relu", "Tanh"), program("Tanh")


def finding(verdict: Verdict = VERDICT, whole: Program = WHOLE, **fields: Any) -> Finding:
    case = FailingCase(whole, X)
    return Finding(verdict, case, case, **fields)


@pytest.fixture
def stopping() -> list[bool]:
    """Whether the job was asked to end, as its last item says."""
    return [False]


@pytest.fixture
def triage(tmp_path: Path, stopping: list[bool]) -> Triage:
    """With an archive of the test and without time that passes."""
    runner: Any = SimpleNamespace(targets=TARGETS)
    database = Database(tmp_path / "c.sqlite")
    waiting = StoredQueue(database)
    made = Triage(Layout(tmp_path), waiting, runner, Config(reduce=5.0), lambda: stopping[-1], longest=7.0)
    made._archive = Shelf()  # type: ignore[assignment]
    recognised = made._archive.recognised
    made._likely, made._tried = recognised.likely, recognised.tried  # type: ignore[assignment]
    return made


def shelf(triage: Triage) -> Shelf:
    assert isinstance(triage._archive, Shelf)
    return triage._archive


def looked(triage: Triage, *found: Finding) -> Counter[str]:
    counts: Counter[str] = Counter()
    triage.look(found, counts)
    triage.work(counts)
    del counts[MILLISECONDS]
    return +counts


@pytest.mark.parametrize(
    ("symptom", "doubt", "open_"),
    [
        (Symptom.DIFFERENCE, "it could not be measured", True),
        (Symptom.NAN_INF, "it could not be measured", True),
        (Symptom.REJECTION, "it could not be measured", False),
        (Symptom.DIFFERENCE, "the distance does not exceed the bound", True),
        (Symptom.NAN_INF, "the distance does not exceed the bound", False),
        (Symptom.DIFFERENCE, "another reason", False),
    ],
)
def test_which_suspects_may_become_findings_when_they_are_measured(symptom: Symptom, doubt: str, open_: bool) -> None:
    assert _undecided(replace(SUSPECT, symptom=symptom, doubt=doubt)) is open_


def test_a_stored_finding_is_recognised(triage: Triage) -> None:
    assert triage.knows(VERDICT, WHOLE) is False
    shelf(triage).known.add("bad")
    assert triage.knows(VERDICT, WHOLE) is True


# ---- what is seen ---------------------------------------------------------------------------


def test_what_is_new_goes_through_the_pipeline(triage: Triage) -> None:
    seen = finding()
    assert looked(triage, seen) == {"findings": 1, "triaged": 1}
    ((taken, steps),) = shelf(triage).taken
    assert (taken, steps > 2) == (seen, True)
    assert shelf(triage).suspects == []
    assert looked(triage) == {}


def test_what_its_message_tells_to_be_known_is_counted(triage: Triage) -> None:
    shelf(triage).known.add("bad")
    assert looked(triage, finding(), finding(SUSPECT)) == {"repeated": 2, "suspect runs": 1}
    assert (shelf(triage).taken, shelf(triage).suspects) == ([], [])


def test_what_is_only_in_doubt_until_it_is_measured_is_no_suspect(triage: Triage) -> None:
    verdict = replace(SUSPECT, doubt="it could not be measured")
    assert looked(triage, finding(verdict)) == {"findings": 1, "triaged": 1}
    assert shelf(triage).taken[0][0].verdict.suspect is False
    assert shelf(triage).suspects == []


def looks_into(triage: Triage, monkeypatch: pytest.MonkeyPatch, comes_to: str = "suspects open") -> list[Finding]:
    """The suspects that are looked into."""
    seen: list[Finding] = []

    def look_into(suspect: Finding) -> str:
        seen.append(suspect)
        return comes_to

    monkeypatch.setattr(triage._suspects, "look_into", look_into)
    return seen


def long(count: int) -> Program:
    return program(*["Tanh"] * count)


@pytest.mark.parametrize(
    ("change", "whole", "looked_into"),
    [
        ({}, WHOLE, True),
        ({"invalid": True}, WHOLE, False),
        ({"symptom": Symptom.CRASH}, WHOLE, False),
        ({"symptom": Symptom.NAN_INF}, WHOLE, True),
        ({}, long(CUT_NODES), True),
        ({}, long(CUT_NODES + 1), False),
    ],
)
def test_which_suspects_are_looked_into(
    triage: Triage, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], whole: Program, looked_into: bool
) -> None:
    seen = looks_into(triage, monkeypatch)
    counts = looked(triage, finding(replace(SUSPECT, **change), whole))
    ((kept, label),) = shelf(triage).suspects
    assert (kept.group != "", label, counts["suspect runs"]) == (True, "suspect", 1)
    assert [(one.doubted, one.group) for one in seen] == ([(1, kept.group)] if looked_into else [])
    assert (counts["suspects open"], counts["triaged"]) == (looked_into, looked_into)
    assert (Symptom.CRASH in CUT, Symptom.NAN_INF in CUT) == (False, True)


def test_of_a_group_of_suspects_the_first_few_are_looked_into(triage: Triage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first, and of those that come later the 1st, 2nd, 4th and 8th."""
    seen = looks_into(triage, monkeypatch)
    counts: Counter[str] = Counter()
    numbers = []
    for _ in range(9):
        triage.look([finding(SUSPECT)], counts)
        triage.work(counts)
        numbers.append(len(seen))
    assert numbers == [1, 2, 3, 3, 4, 4, 4, 4, 5]
    assert (counts["suspects open"], counts["suspects repeated"], counts["suspect runs"]) == (5, 4, 9)


def test_a_suspect_of_a_known_fault_is_not_looked_into(triage: Triage, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = looks_into(triage, monkeypatch)
    triage._likely.add(VERDICT, "", VERDICT, SMALL)
    assert looked(triage, finding(SUSPECT)) == {"suspect runs": 1}
    assert seen == []


def test_a_likely_repetition_is_counted_but_for_the_1st_2nd_and_4th(triage: Triage) -> None:
    triage._likely.add(VERDICT, "", VERDICT, SMALL)
    counts = sum((looked(triage, finding()) for _ in range(4)), Counter())
    assert counts == {"likely repeated": 1, "findings": 3, "triaged": 3}


# ---- what waits -----------------------------------------------------------------------------


def waits(verdict: Verdict = VERDICT, whole: Program = WHOLE, *, again: bool = False, **fields: Any) -> TriageCase:
    return TriageCase(finding(verdict, whole, **fields), "", frozenset({"Tanh"}), 2, again)


def test_nothing_is_looked_into_once_the_job_is_to_end(triage: Triage, stopping: list[bool]) -> None:
    stopping.append(True)
    assert looked(triage, finding()) == {"untriaged": 1}
    stopping.append(False)
    counts: Counter[str] = Counter()
    triage.work(counts)
    assert (counts["findings"], counts["triaged"], counts["untriaged"]) == (1, 1, 0)


def test_what_came_to_nothing_is_not_counted_by_name(triage: Triage) -> None:
    shelf(triage).comes_to = ""
    assert looked(triage, finding()) == {"triaged": 1}


def test_a_case_that_is_known_by_now_is_counted_for_its_suspect(triage: Triage) -> None:
    shelf(triage).known.add("bad")
    assert triage._look_into(waits(SUSPECT, doubted=3)) == "repeated"
    assert shelf(triage).doubted == [3]


def test_a_disagreement_that_became_known_while_it_waited(triage: Triage) -> None:
    triage._likely.add(VERDICT, "", VERDICT, SMALL)
    assert triage._look_into(waits()) is None, "the first time it waits again"
    item = replace(waits(), again=True)
    assert triage._look_into(item) == "findings", "another fault may hide behind it"
    assert triage._look_into(waits()) is None
    assert triage._look_into(waits()) == "likely repeated", "the third"


def test_a_suspect_whose_group_was_looked_into_while_it_waited(triage: Triage, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = looks_into(triage, monkeypatch)
    item = waits(SUSPECT, group="g")
    told = [triage._look_into(item) for _ in range(4)]
    assert told == ["suspects open", "suspects open", "suspects open", "suspects repeated"]
    assert triage._look_into(replace(item, again=True)) == "suspects open", "its turn was counted before"
    assert len(seen) == 4
    triage._likely.add(SUSPECT, "", SUSPECT, SMALL)
    assert triage._look_into(replace(item, again=True)) == ""


def test_what_waits_from_before_is_looked_into_whatever_became_known(
    triage: Triage, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = looks_into(triage, monkeypatch)
    monkeypatch.setattr(triage._waiting, "is_earlier", lambda item: True)
    triage._likely.learn(OperatorsKey("difference", "bad", "", frozenset({"Tanh"})), 0)
    triage._tried.learn("g", 0)
    assert [triage._look_into(waits()) for _ in range(3)] == [None] * 3, "it has its turn behind what is news"
    assert triage._look_into(replace(waits(), again=True)) == "findings"
    assert [triage._look_into(waits(SUSPECT, group="g")) for _ in range(3)] == ["suspects open"] * 3
    assert len(seen) == 3


def test_a_search_that_was_cut_short_goes_on_in_the_next_life(
    triage: Triage, monkeypatch: pytest.MonkeyPatch, stopping: list[bool]
) -> None:
    monkeypatch.setattr(triage._suspects, "look_into", lambda suspect: OPEN)
    stopping.append(True)
    assert triage._look_into(waits(SUSPECT, group="g")) is None
    assert shelf(triage).recognised.told == []
    stopping.append(False)
    assert triage._look_into(waits(SUSPECT, group="h")) == OPEN
    assert shelf(triage).recognised.told == ["h"]


def test_a_group_whose_proof_is_unfinished_is_not_done(triage: Triage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triage._suspects, "look_into", lambda suspect: UNFINISHED.reason)
    assert triage._look_into(waits(SUSPECT, group="g")) == UNFINISHED.reason
    assert shelf(triage).recognised.told == []


@pytest.mark.parametrize(("comes_to", "worth"), [("findings", 1.0), ("unreplayed", 1.0), ("repeated", 0.0)])
def test_what_a_case_came_to_is_its_worth(
    triage: Triage, monkeypatch: pytest.MonkeyPatch, comes_to: str, worth: float
) -> None:
    told: list[float] = []
    monkeypatch.setattr(triage._budget, "came_to", told.append)
    shelf(triage).comes_to = comes_to
    assert triage._look_into(waits()) == comes_to
    assert told == [worth] == [WORTH.get(comes_to, 0.0)]
    assert WORTH["findings of known issues"] == 0.5


@pytest.mark.parametrize(("verdict", "part"), [(VERDICT, 1.0), (SUSPECT, SUSPECTS)])
def test_suspects_have_half_of_the_time(
    triage: Triage, monkeypatch: pytest.MonkeyPatch, verdict: Verdict, part: float
) -> None:
    asked: list[tuple[str, float]] = []

    def allows(target: str, of: float) -> bool:
        asked.append((target, of))
        return len(asked) > 1

    monkeypatch.setattr(triage._budget, "allows", allows)
    assert [triage._affords(waits(verdict)) for _ in range(2)] == [False, True]
    assert asked == [("bad", part)] * 2


def test_time_is_counted_for_the_target(triage: Triage, monkeypatch: pytest.MonkeyPatch) -> None:
    took: list[tuple[str, float]] = []
    monkeypatch.setattr(triage._budget, "took", lambda target, seconds: took.append((target, seconds)))
    monkeypatch.setattr(disagreement_handling, "time", SimpleNamespace(monotonic=lambda: 12.5))
    counts: Counter[str] = Counter()
    triage._took("bad", 10.0, counts)
    assert (took, counts) == ([("bad", 2.5)], {MILLISECONDS: 2500})


# ---- what does not show again ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("explained", "as_it_was", "history", "told"),
    [
        ("suspect runs", True, "findings", "suspect runs"),
        ("suspect runs", False, "findings", "suspect runs"),
        ("", True, "findings", "findings"),
        ("", True, "", "unrepeatable"),
        ("", False, "findings", "unrepeatable"),
    ],
)
def test_what_fresh_processes_do_not_show(
    triage: Triage, monkeypatch: pytest.MonkeyPatch, explained: str, as_it_was: bool, history: str, told: str
) -> None:
    monkeypatch.setattr(triage, "_explained", lambda one: explained)
    monkeypatch.setattr(triage, "_depends_on_history", lambda one: history)
    seen = finding()
    assert triage._unseen(seen if as_it_was else replace(seen, case=FailingCase(SMALL, X)), [], []) == told


@pytest.mark.parametrize(("explained", "told"), [("suspect runs", "suspect runs"), ("", "explained by rounding")])
def test_what_all_witnesses_do_not_say(
    triage: Triage, monkeypatch: pytest.MonkeyPatch, explained: str, told: str
) -> None:
    monkeypatch.setattr(triage, "_explained", lambda one: explained)
    assert triage._unheard(finding()) == told


def bench(triage: Triage, verdicts: Callable[[int], list[Verdict]]) -> list[tuple[object, ...]]:
    """Has runs judged so, by how often they were judged; gives what was run and judged."""
    calls: list[tuple[object, ...]] = []

    def run(case: FailingCase, targets: Sequence[Target], *, fresh: bool = True) -> list[str]:
        calls.append(("run", len(targets), fresh))
        return ["result"]

    def judge(case: FailingCase, results: Sequence[object], *, invalid: bool) -> list[Verdict]:
        calls.append(("judge", list(results), invalid))
        return verdicts(sum(call[0] == "judge" for call in calls))

    triage._bench = SimpleNamespace(run=run, judge=judge)  # type: ignore[assignment]
    return calls


@pytest.mark.parametrize(
    ("verdicts", "told", "kept"),
    [
        ([VERDICT], "", 0),
        ([SUSPECT, VERDICT], "", 0),
        ([SUSPECT], "suspect runs", 1),
        ([replace(SUSPECT, target="one"), SUSPECT], "suspect runs", 1),
        ([replace(SUSPECT, target="one")], "explained by rounding", 0),
        ([replace(SUSPECT, symptom=Symptom.NAN_INF)], "explained by rounding", 0),
        ([replace(VERDICT, target="one")], "explained by rounding", 0),
        ([], "explained by rounding", 0),
    ],
)
def test_what_measuring_explains(triage: Triage, verdicts: list[Verdict], told: str, kept: int) -> None:
    calls = bench(triage, lambda times: verdicts)
    answer = RunResult(TARGETS[0], Stage.RUN, Exit.OK)
    seen = replace(finding(replace(VERDICT, invalid=True), results=(answer,)), case=FailingCase(SMALL, X))
    assert triage._explained(seen) == told
    assert calls == [("judge", [answer], True)]
    assert [(one.verdict, one.original is seen.case) for one, _ in shelf(triage).suspects] == [(SUSPECT, True)] * kept


def test_answers_that_were_too_many_to_be_stored_are_asked_again(triage: Triage) -> None:
    calls = bench(triage, lambda times: [])
    assert triage._explained(finding()) == "explained by rounding"
    assert calls == [("run", 3, False), ("judge", ["result"], False)]


@pytest.mark.parametrize(
    ("slow", "usual", "longest", "seconds"),
    [
        (False, 5.0, 7.0, 5.0),
        (True, 5.0, 7.0, 7.0),
        (True, 5.0, 3.0, 5.0),
        (True, 5.0, 5.0 * PATIENCE + 1, 5.0 * PATIENCE),
    ],
)
@pytest.mark.parametrize("ends", [False, True])
def test_how_long_a_finding_is_made_small(
    triage: Triage,
    monkeypatch: pytest.MonkeyPatch,
    stopping: list[bool],
    slow: bool,
    usual: float,
    longest: float,
    seconds: float,
    ends: bool,
) -> None:
    asked: dict[str, Any] = {}

    def reduce_case(one: Program, inputs: object, still: object, **options: Any) -> SimpleNamespace:
        asked.update(options, program=one)
        return SimpleNamespace(program=SMALL, inputs=X, settled=True)

    monkeypatch.setattr(disagreement_handling, "reduce_case", reduce_case)
    triage._runner.targets = (replace(TARGETS[0], slow=slow), *TARGETS[1:])
    triage._longest = longest
    assert triage._config.reduce == usual
    stopping.append(ends)
    monkeypatch.setattr(disagreement_handling.time, "monotonic", lambda: 100.0)
    watch: Any = SimpleNamespace(still=None, values_of=None, faulty_parts=lambda one, inputs, until: [until])
    small = triage._shrunk(finding(), watch)
    assert (small.program, small.inputs) == (SMALL, X)
    parts = [] if ends else [100 + seconds / 2]
    assert (asked["program"], asked["seconds"], asked["starts"]) == (WHOLE, seconds, parts)


@pytest.mark.parametrize(("took", "parts"), [(0.5, 1), (0.51, 0)])
def test_the_nodes_of_what_takes_longer_than_a_finding_is_given_are_not_run_alone(
    triage: Triage, monkeypatch: pytest.MonkeyPatch, took: float, parts: int
) -> None:
    asked: dict[str, Any] = {}

    def reduce_case(one: Program, inputs: object, still: object, **options: Any) -> SimpleNamespace:
        asked.update(options)
        return SimpleNamespace(program=SMALL, inputs=X, settled=True)

    monkeypatch.setattr(disagreement_handling, "reduce_case", reduce_case)
    triage._config = replace(triage._config, reduce=0.5)
    watch: Any = SimpleNamespace(still=None, values_of=None, faulty_parts=lambda one, inputs, until: ["part"])
    runs = [RunResult(target, Stage.RUN, Exit.HANG, seconds=took) for target in TARGETS[:1]]
    triage._shrunk(finding(results=runs), watch)
    assert (asked["each"], len(asked["starts"])) == (took, parts)


@pytest.mark.parametrize(("runs", "told"), [(2, "findings"), (TIMES, "findings"), (TIMES + 1, "unrepeatable")])
def test_what_shows_after_some_runs_in_one_process_is_a_finding(triage: Triage, runs: int, told: str) -> None:
    calls = bench(triage, lambda times: [VERDICT] if times == runs - 1 else [])
    assert triage._depends_on_history(finding()) == told
    count = sum(call[0] == "run" for call in calls)
    assert count == min(runs, TIMES) - 1
    assert ("run", 3, False) in calls
    if told == "unrepeatable":
        assert [label for _, label in shelf(triage).suspects] == ["unrepeatable"]
        assert shelf(triage).taken == []
        return
    ((taken, steps),) = shelf(triage).taken
    assert (taken.verdict.runs, taken.verdict.limit, steps) == (runs, triage._config.memory, 2)
    assert (taken.signature, taken.cause) == ("again|difference|bad", None)
    assert taken.title.endswith(f", after {runs} runs in one process")
    assert shelf(triage).suspects == []


def test_what_depends_on_history_is_looked_into_once_for_a_target(triage: Triage) -> None:
    calls = bench(triage, lambda times: [])
    shelf(triage).again.add("again|difference|bad")
    assert triage._depends_on_history(finding()) == "repeated"
    assert calls == []


@pytest.mark.parametrize(("late", "ends", "tries"), [(0.0, False, TIMES - 1), (0.5, False, 0), (0.0, True, 0)])
def test_it_ends_with_the_job_or_after_some_time(
    triage: Triage, monkeypatch: pytest.MonkeyPatch, stopping: list[bool], late: float, ends: bool, tries: int
) -> None:
    calls = bench(triage, lambda times: [])
    clock = iter([100.0])
    later = 100.0 + GRACE + triage._config.reduce + late
    monkeypatch.setattr(disagreement_handling, "time", SimpleNamespace(monotonic=lambda: next(clock, later)))
    stopping.append(ends)
    assert triage._depends_on_history(finding()) == "unrepeatable"
    assert sum(call[0] == "run" for call in calls) == tries


# ---- what fails, and what goes on -----------------------------------------------------------


def stored(triage: Triage) -> list[tuple[int, int]]:
    """Strikes of what is stored and waits, and the numbers under which it is kept."""
    database = triage._waiting.database
    database.record(0, 1, 1, {}, [])
    return [(row.strikes, row.doubted) for row in database.waiting.of(0)]


def test_a_case_at_which_irfuzz_fails_waits_again_and_is_kept_in_the_end(triage: Triage) -> None:
    taken: list[Finding] = []

    def fails(found: Finding, way: object) -> str:
        taken.append(found)
        raise ZeroDivisionError

    shelf(triage).take = fails  # type: ignore[method-assign]
    counts: Counter[str] = Counter()
    triage.look([finding()], counts)
    for strikes in range(DEADLY):
        assert stored(triage) == [(strikes, 0)]
        with pytest.raises(ZeroDivisionError):
            triage.work(counts)
    bench(triage, lambda times: [])
    triage.work(counts)
    assert (len(taken), counts[SET_ASIDE], stored(triage)) == (DEADLY, 1, [])
    ((kept, label),) = shelf(triage).suspects
    assert (label, kept.verdict, kept.printed) == ("set aside", VERDICT, TOLD_OF_FAILED)


def test_what_cannot_even_be_kept_stays_in_the_database(triage: Triage, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    triage.look([finding()], counts)
    assert stored(triage) == [(0, 0)]
    monkeypatch.setattr(triage, "_look_into", lambda item: 1 / 0)
    monkeypatch.setattr(triage, "_set_aside", lambda item: 1 / 0)
    for _ in range(DEADLY + 1):
        with pytest.raises(ZeroDivisionError):
            triage.work(counts)
    triage.work(counts)
    assert stored(triage) == [(DEADLY + 1, 0)]


def test_a_full_disk_is_no_fault_of_a_case(triage: Triage, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(item: TriageCase) -> str:
        raise UsageError("the disk is full")

    monkeypatch.setattr(triage, "_look_into", full)
    counts: Counter[str] = Counter()
    triage.look([finding()], counts)
    assert stored(triage) == [(0, 0)]
    with pytest.raises(UsageError):
        triage.work(counts)
    assert stored(triage) == [(0, 0)]


def test_what_its_script_has_not_shown_in_time_waits_under_its_number(triage: Triage, stopping: list[bool]) -> None:
    shelf(triage).unfinished = 6

    def late(found: Finding, way: object) -> str:
        stopping.append(True)
        return "unfinished"

    shelf(triage).take = late  # type: ignore[method-assign]
    assert looked(triage, finding()) == {"unfinished": 1, "triaged": 1, "untriaged": 1}
    assert stored(triage) == [(0, 6)]


def test_what_was_proven_before_a_kill_is_not_looked_into_again(triage: Triage) -> None:
    shelf(triage).proven.add(3)
    assert triage._look_into(waits(doubted=3)) == "repeated"
    assert triage._look_into(waits(doubted=4)) == "findings"


def test_what_targets_are_blamed_for_that_do_not_run_waits(triage: Triage) -> None:
    triage._runner.targets = TARGETS[1:]
    assert looked(triage, finding()) == {"untriaged": 1}
    triage._runner.targets = TARGETS
    assert looked(triage) == {"findings": 1, "triaged": 1}
