"""Who runs a program, who is asked besides, what is kept and what is triaged, without a process."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign import differential_strategy
from irfuzz.campaign.config import MANY, Config
from irfuzz.campaign.corpus.changed_target_turns import AGAIN
from irfuzz.campaign.corpus.mutation_steering import MutantWorth, RunWorth
from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.campaign.differential_strategy import NO_SHARE, Differential
from irfuzz.campaign.monitoring.inferred_fact_audit import EVERY
from irfuzz.campaign.targets.drawn_calls import DrawnCalls
from irfuzz.campaign.targets.failing_target_exclusion import FAILURES, FailingTargets
from irfuzz.campaign.targets.hang_avoidance import HangAvoidance
from irfuzz.campaign.targets.per_program_selection import TimeParts
from irfuzz.choices import Choices
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, TargetRole
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.mutate.mutator_protocol import Edit, Relation
from irfuzz.oracle.excuses import ALONE
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

ONE, TWO, THREE = Target("one", "one"), Target("two", "two"), Target("three", "three")
TOOL = Target("tool", "tool", role=TargetRole.TOOL, before="one")
WITNESS, SLOW = Target("numpy:eager", "numpy"), Target("slow", "slow", slow=True)
QUICK = (ONE, TWO, THREE, TOOL)
X = {"x": np.array([1, 2], np.float32)}
VERDICT = Verdict("o", Symptom.DIFFERENCE, "one", ("two",), output="y")
SUSPECT = replace(VERDICT, suspect=True, doubt="why")
VALID = next(r for r in Relation if r is not Relation.INVALID)


def program(op: str = "Neg") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ y = {op} (x) }}'
    return Program.from_proto(onnx.parser.parse_model(text))


PARENT, MUTANT = program(), program("Abs")
ENTRY = CorpusEntry(PARENT.digest, "seed.onnx", 0, 1)


def edit(relation: Relation = VALID) -> Edit:
    return Edit("m", 1, "site", (), relation, "")


def case(*, invalid: bool = False, edits: int = 1, **fields: Any) -> Testcase:
    made = (edit(Relation.INVALID if invalid else VALID),) * edits
    fields = {"inputs": X, "targets": (ONE, TWO), **fields}
    return Testcase(2, fields.pop("iteration", 3), ENTRY, PARENT, MUTANT, made, **fields)


def ran(*targets: Target, exit_: Exit = Exit.OK, seconds: float = 0.5) -> list[RunResult]:
    return [RunResult(t, Stage.RUN, exit_, seconds=seconds) for t in targets]


class Steps(Differential):
    """A strategy of which all that runs programs or looks into findings is a note."""

    def __init__(self, **config: Any) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.known: set[str] = set()
        self.verdicts: list[list[Verdict]] = [[]]
        self.slow_runs: list[RunResult] = []
        self.adds, self.new_runs = True, False
        self._job: Any = SimpleNamespace(
            counts=Counter(), config=Config(**config), number=0, iteration=8, time=lambda: (100.0, 50.0),
            database=SimpleNamespace(programs=SimpleNamespace(whole=lambda one: b"whole")),
            targets=SimpleNamespace(
                drop=lambda target, why: self.told.append(("dropped", target.name, why)),
                set_aside=lambda target, why: self.told.append(("aside", target.name, why)),
            ),
        )  # fmt: skip
        self._runner: Any = SimpleNamespace(
            targets=(*QUICK, WITNESS), run=self._asks, run_all=lambda cases: [one.tag for one in cases]
        )
        self._quick, self._witnesses = QUICK, (WITNESS,)
        self._parts, self._stuck = TimeParts(QUICK), HangAvoidance()
        self._failing = FailingTargets()
        self._drawn = DrawnCalls(Config(**config))
        self._slow: Any = SimpleNamespace(
            run=lambda testcase: self.slow_runs, leave_out=lambda one: self.told.append(("left out", one.name))
        )
        self._seed_turns: Any = SimpleNamespace(took=lambda seconds, seed: self.told.append(("took", seconds, seed)))
        self._triage: Any = SimpleNamespace(
            knows=lambda verdict, one: verdict.target in self.known,
            look=lambda found, counts: self.told.append(("look", found)),
            work=lambda counts: self.told.append(("work",)),
        )
        self._support: Any = SimpleNamespace(
            saw=lambda one, runs: self.told.append(("support", len(runs))), save=lambda: self.told.append(("saved",))
        )
        self.steering: Any = SimpleNamespace(
            count=lambda testcase: MutantWorth(4, keep=True, cost=7, brings=b"brings"),
            asks=lambda testcase, features: {"features": str(features)},
            ran=lambda testcase, runs: RunWorth(self.new_runs, b" more"), parent=lambda choices: "searched",
            moved=lambda: None,
            mutate=lambda entry, parent, choices: (None, ("plan",)),
            disagreed=lambda testcase, wrong, runs: self.told.append(("disagreed", len(wrong))),
        )  # fmt: skip
        self.corpus: Any = SimpleNamespace(
            add=lambda testcase: (self.told.append(("added", testcase.brings)), self.adds)[1],
            seed=lambda place: f"seed {place}",
            trace_of=lambda testcase: SimpleNamespace(to_json=lambda: {"a": "trace"}),
        )  # fmt: skip
        self._samples: Any = SimpleNamespace(give=lambda *_: None)
        self._hunt: Any = SimpleNamespace(steer=lambda one, inputs, *_: ({"x": "steered"}, "nan"))
        self._ranges, self._alone = {}, ()
        self._seed, self._again = None, False
        self._stored_turns: Any = SimpleNamespace(
            turn=lambda iteration, entries: None, begin=lambda *about: self.told.append(("stored", *about))
        )

    def _asks(self, one: Program, inputs: object, targets: Sequence[Target], *, tag: str) -> list[RunResult]:
        self.told.append(("asked", *(t.name for t in targets), tag))
        return ran(*targets)

    def _judged(self, testcase: Testcase, runs: list[RunResult]) -> list[Verdict]:
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]

    def asked(self) -> list[str]:
        """The targets that were asked besides."""
        return [name for one in self.told if one[0] == "asked" for name in one[1:-1]]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many runs were measured, each time."""
    found: list[int] = []

    class Measuring:
        def __init__(self, *_: object) -> None:
            pass

        def judge(self, one: Program, inputs: object, runs: Sequence[RunResult]) -> list[Verdict]:
            found.append(len(runs))
            return [replace(SUSPECT, doubt="measured")]

    monkeypatch.setattr(differential_strategy, "MeasuringJudge", Measuring)
    return found


@pytest.mark.parametrize(
    ("verdicts", "known", "invalid", "asked"),
    [
        ([], "", False, []),
        ([VERDICT], "", False, ["three"]),
        ([VERDICT], "one", False, []),
        ([VERDICT, replace(VERDICT, target="two")], "one", False, ["three"]),
        ([VERDICT, replace(VERDICT, target="two")], "one two", False, []),
        ([replace(VERDICT, target="tool")], "", False, ["three", "tool"]),
        ([VERDICT], "", True, ["three", "tool"]),
        ([VERDICT], "one", True, []),
    ],
)
def test_all_others_are_asked_about_what_is_new(
    measured: list[int], verdicts: list[Verdict], known: str, invalid: bool, asked: list[str]
) -> None:
    steps = Steps()
    steps.known = set(known.split())
    final = [replace(VERDICT, message="of all")]
    steps.verdicts = [verdicts, final]
    runs, told = steps.judge(case(invalid=invalid), ran(ONE, TWO))
    assert steps.asked() == asked
    assert [result.target.name for result in runs] == ["one", "two", *asked]
    assert told == (final if asked else verdicts)
    assert measured == []
    assert [one[-1] for one in steps.told if one[0] == "asked"] == (["2/3"] if asked else [])


@pytest.mark.parametrize(
    ("doubt", "invalid", "asked"), [(ALONE, False, True), ("why", False, False), (ALONE, True, False)]
)
def test_another_witness_is_asked_if_one_is_missing(
    measured: list[int], doubt: str, invalid: bool, asked: bool
) -> None:
    steps = Steps()
    steps.known = {"one"}
    steps.verdicts = [[replace(SUSPECT, doubt=doubt)], [VERDICT]]
    _, told = steps.judge(case(invalid=invalid), ran(ONE, TWO))
    assert steps.asked() == (["numpy:eager"] if asked else [])
    assert (told == [VERDICT]) is asked
    assert measured == ([2] if not invalid and not asked else [])


@pytest.mark.parametrize(
    ("verdict", "slow", "invalid", "measures"),
    [
        (SUSPECT, False, False, True),
        (SUSPECT, True, False, False),
        (SUSPECT, False, True, False),
        (VERDICT, False, False, False),
    ],
)
def test_a_suspect_is_measured_if_no_slow_target_ran(
    measured: list[int], verdict: Verdict, slow: bool, invalid: bool, measures: bool
) -> None:
    steps = Steps()
    steps.known = {"one"}
    steps.verdicts = [[verdict]]
    steps.slow_runs = ran(SLOW) if slow else []
    runs, told = steps.judge(case(invalid=invalid), ran(ONE, TWO))
    assert measured == ([2] if measures else [])
    assert told == ([replace(SUSPECT, doubt="measured")] if measures else [verdict])
    assert len(runs) == 2 + (slow and not invalid)


@pytest.mark.parametrize("invalid", [False, True])
@pytest.mark.parametrize("sample", [None, 0])
def test_what_is_counted_of_a_program(invalid: bool, sample: int | None) -> None:
    steps = Steps()
    steps.slow_runs = ran(SLOW, exit_=Exit.CRASH)
    runs, told = steps.judge(case(invalid=invalid, sample=sample), [*ran(ONE, TWO), *ran(THREE, exit_=Exit.REJECTED)])
    counts = steps._job.counts
    assert told == []
    assert (counts["declared invalid"], counts["runs"]) == (invalid, 3 if invalid else 4)
    assert (counts["three rejected"], counts["one ok"], counts["slow crash"]) == (1, 1, not invalid)
    assert counts["on two targets"] == (not invalid)
    assert steps.told == [("took", 1.5, sample is not None)], "of the quick ones"
    assert steps._parts._spent == {"one": 0.5, "two": 0.5, "three": 0.5}
    assert len(runs) == (3 if invalid else 4)


def test_who_fails_on_everything_is_told_of_and_neither_run_nor_asked_any_more() -> None:
    steps = Steps(every=1)
    steps.told.clear()
    runs = [*ran(ONE, TWO), *ran(THREE, exit_=Exit.CRASH)]
    for iteration in range(FAILURES[Exit.CRASH]):
        testcase = steps.feed(case(iteration=iteration), Choices.from_seed("0"))
        assert THREE in testcase.targets
        steps.judge(case(iteration=iteration), runs)
    ((target, why),) = [one[1:] for one in steps.told if one[0] == "aside"]
    assert (target, why[:36]) == ("three", "set aside: it failed on each of 16 p")
    assert [one[1:] for one in steps.told if one[0] == "left out"] == [("three",)]
    assert THREE not in steps.feed(case(), Choices.from_seed("0")).targets
    steps.verdicts = [[VERDICT]]
    steps.judge(case(), ran(ONE, TWO))
    assert "three" not in steps.asked()


def test_who_hung_is_not_asked_besides() -> None:
    steps = Steps()
    steps.verdicts = [[VERDICT]]
    steps._stuck.saw("seed.onnx", MUTANT, ran(THREE, exit_=Exit.HANG))
    runs, told = steps.judge(case(), ran(ONE, TWO))
    assert (steps.asked(), len(runs), told) == ([], 2, [VERDICT])
    assert steps._job.counts["spared"] == 1


@pytest.mark.parametrize(
    ("invalid", "keep", "new", "ends", "adds", "added", "lost"),
    [
        (False, True, False, Exit.OK, True, True, 0),
        (False, False, True, Exit.OK, True, True, 0),
        (False, False, False, Exit.OK, True, False, 0),
        (False, True, True, Exit.REJECTED, True, False, 0),
        (False, True, False, Exit.OK, False, True, 1),
        (True, False, True, Exit.OK, True, False, 0),
        (True, True, False, Exit.OK, True, True, 0),
    ],
)
def test_what_becomes_a_parent(
    invalid: bool, keep: bool, new: bool, ends: Exit, adds: bool, added: bool, lost: int
) -> None:
    steps = Steps()
    steps.new_runs, steps.adds = new, adds
    steps.keep(case(invalid=invalid, keep=keep), [*ran(ONE, exit_=Exit.CRASH), *ran(TWO, exit_=ends)])
    assert steps.told == [
        *([("added", b"" if invalid else b" more")] if added else []),
        *([] if invalid else [("support", 2)]),
    ]
    assert steps._job.counts["large weights not kept"] == lost


def test_each_verdict_is_a_finding_with_its_trace() -> None:
    steps = Steps()
    steps.triage(case(hunt="nan"), [], [])
    assert steps.told == []
    runs = ran(ONE, TWO)
    steps.triage(case(hunt="nan"), runs, [VERDICT, SUSPECT])
    assert steps.told[0] == ("disagreed", 2)
    ((_, found),) = steps.told[1:]
    assert [one.verdict for one in found] == [VERDICT, SUSPECT]
    for one in found:
        assert (one.trace, one.hunt, one.job, one.iteration) == ({"a": "trace"}, "nan", 2, 3)
        assert one.case is one.original is found[0].case
        assert (one.case.program, one.results) == (MUTANT, runs)


@pytest.mark.parametrize(
    ("iteration", "invalid", "facts"), [(0, False, 7), (EVERY, False, 7), (EVERY + 1, False, 0), (EVERY, True, 0)]
)
def test_facts_are_compared_now_and_then(
    monkeypatch: pytest.MonkeyPatch, iteration: int, invalid: bool, facts: int
) -> None:
    monkeypatch.setattr(differential_strategy.inferred_fact_audit, "audit", lambda *_: 7)
    steps = Steps()
    steps.audit(case(iteration=iteration, invalid=invalid))
    assert steps._job.counts["facts checked"] == facts


@pytest.mark.parametrize(
    ("number", "turn", "entry", "seed"),
    [(0, (1, 2), "seed 1", (1, 2)), (0, None, "searched", None), (1, (1, 2), "searched", None)],
)
def test_the_first_job_begins_with_seeds(
    number: int, turn: tuple[int, int] | None, entry: str, seed: tuple[int, int] | None
) -> None:
    steps = Steps()
    steps._job.number = number
    steps._seed_turns = SimpleNamespace(turn=lambda iteration, runs: turn)
    assert steps.schedule(Choices.from_seed(1), 5) == entry
    assert steps._seed == seed


@pytest.mark.parametrize(("beyond", "entry", "runs"), [("", ENTRY, True), ("operator Neg", "searched", False)])
def test_stored_programs_run_again_if_they_are_within_the_limits(beyond: str, entry: object, runs: bool) -> None:
    steps = Steps()
    steps._stored_turns.turn = lambda iteration, entries: ENTRY if iteration == 5 else None
    steps._seed_turns = SimpleNamespace(turn=lambda iteration, alone: (0, 0) if iteration == 7 else None)
    steps.steering.beyond = lambda one: beyond
    assert steps.schedule(Choices.from_seed(1), 5) == entry
    assert steps._job.counts[AGAIN] == runs
    testcase = steps.mutate(ENTRY, PARENT, Choices.from_seed(1), 5)
    assert testcase == (Testcase(0, 5, ENTRY, PARENT, PARENT) if runs else None)
    assert steps.schedule(Choices.from_seed(1), 6) == "searched"
    assert steps.mutate(ENTRY, PARENT, Choices.from_seed(1), 6) is None
    assert steps.schedule(Choices.from_seed(1), 7) == "seed 0"
    assert steps._job.counts[AGAIN] == runs


def test_a_seed_runs_without_edits_and_a_mutant_with_its_plan() -> None:
    steps, choices = Steps(), Choices.from_seed(1)
    steps._job.number = 6
    assert steps.mutate(ENTRY, PARENT, choices, 5) is None, "it could not be made"
    made = SimpleNamespace(program=MUTANT, edits=(edit(),))
    steps.steering.mutate = lambda entry, parent, choices: (made, ("plan",))
    assert steps.mutate(ENTRY, PARENT, choices, 5) == Testcase(6, 5, ENTRY, PARENT, MUTANT, (edit(),), ("plan",))
    steps._seed = (4, 2)
    assert steps.mutate(ENTRY, PARENT, choices, 5) == Testcase(6, 5, ENTRY, PARENT, PARENT, sample=2)


SOME = [Target(f"onnxruntime:{level}", "onnxruntime") for level in ("disabled", "basic", "all")]


@pytest.mark.parametrize(
    ("fields", "given", "inputs", "hunt", "features", "keep", "targets"),
    [
        ({}, None, "steered", "nan", 4, True, 2),
        ({}, {"x": "given"}, "given", "", 4, True, 2),
        ({"edits": 0}, None, "steered", "nan", 0, False, 2),
        ({"invalid": True}, None, "drawn", "", 0, False, 3),
        ({"iteration": 0}, None, "steered", "nan", 4, True, 3),
    ],
)
def test_what_a_program_is_run_on(
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, Any],
    given: dict[str, str] | None,
    inputs: str,
    hunt: str,
    features: int,
    keep: bool,
    targets: int,
) -> None:
    """Targets that are sampled run on an invalid program too."""
    monkeypatch.setattr(differential_strategy, "make_inputs", lambda *_, **__: {"x": "drawn"})
    steps = Steps()
    steps._quick = tuple(SOME)
    steps._samples.give = lambda *_: given
    fed = steps.feed(case(**fields), Choices.from_seed(1))
    assert (fed.inputs, fed.hunt, fed.whole) == ({"x": inputs}, hunt, b"whole")
    assert (fed.features, fed.keep, fed.asks) == (features, keep, {"features": str(features)})
    assert [t.name for t in fed.targets] == [t.name for t in SOME if targets == 3 or "basic" not in t.name]
    assert steps._job.counts["steered"] == bool(hunt)


@pytest.mark.parametrize("all_", [False, True])
def test_who_hung_on_a_seed_is_spared_unless_all_did(monkeypatch: pytest.MonkeyPatch, all_: bool) -> None:
    monkeypatch.setattr(differential_strategy, "make_inputs", lambda *_, **__: {"x": "drawn"})
    steps = Steps()
    steps._quick = (ONE, TWO)
    steps._stuck.saw("seed.onnx", MUTANT, ran(ONE, *([TWO] if all_ else []), exit_=Exit.HANG))
    fed = steps.feed(case(), Choices.from_seed(1))
    assert fed.targets == ((ONE, TWO) if all_ else (TWO,))


def test_nothing_is_said_to_be_steered_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differential_strategy, "make_inputs", lambda *_, **__: {"x": "drawn"})
    steps = Steps()
    steps._hunt.steer = lambda one, inputs, *_: (inputs, "")
    fed = steps.feed(case(), Choices.from_seed(1))
    assert (fed.inputs, fed.hunt, steps._job.counts["steered"]) == ({"x": "drawn"}, "", 0)


def test_programs_travel_together() -> None:
    steps = Steps()
    assert steps.execute([case(), case(iteration=4)]) == ["2/3", "2/4"]
    steps.work()
    steps.end()
    assert steps.told == [("work",), ("saved",)]


@pytest.mark.parametrize(
    ("share", "slow", "longest", "later"),
    [(0.25, True, 10.0, ("slow",)), (0.0, True, math.inf, ()), (0.25, False, math.inf, ())],
)
@pytest.mark.parametrize("named", [None, ("one", "slow")])
def test_which_targets_begin(
    monkeypatch: pytest.MonkeyPatch,
    share: float,
    slow: bool,
    longest: float,
    later: tuple[str, ...],
    named: tuple[str, ...] | None,
) -> None:
    asked: dict[str, Any] = {}

    def resolve(names: object, **options: Any) -> tuple[Target, ...]:
        asked.update(names=names, **options)
        return (ONE, SLOW) if slow else (ONE,)

    monkeypatch.setattr(differential_strategy, "resolve", resolve)
    monkeypatch.setattr(
        differential_strategy,
        "Runner",
        lambda quick, limits, **options: asked.update(options, quick=quick, limits=limits),
    )
    steps = Steps(slow_share=share, targets=named, timeout=3.0, memory=5, python_coverage=True)
    steps.runner()
    assert (asked["names"], asked["slow"], asked["witness"]) == (named, share > 0, True)
    assert (asked["quick"], asked["required"], asked["lines"], asked["longest"]) == (
        (ONE,), named is not None, True, longest,
    )  # fmt: skip
    assert (asked["limits"].seconds, asked["limits"].memory_bytes) == (3.0, 5)
    assert tuple(t.name for t in steps._later) == later
    assert steps.told == ([("dropped", "slow", NO_SHARE)] if slow and not share else [])


@pytest.mark.parametrize(("count", "many"), [(MANY, False), (MANY + 1, True)])
@pytest.mark.parametrize("newest", [NEWEST, NEWEST - 1])
def test_how_a_job_begins(monkeypatch: pytest.MonkeyPatch, count: int, many: bool, newest: int) -> None:
    """NumPy beside another reading of ONNX is no quick target: it is asked if a witness is missing."""
    made: dict[str, Any] = {}

    def note(name: str) -> Any:
        return lambda *given, **options: made.update({name: (given, options)})

    for name in ("Sampling", "SlowTargets", "SeedTurns", "StoredQueue", "Triage"):
        monkeypatch.setattr(differential_strategy, name, note(name))
    monkeypatch.setattr(differential_strategy, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    monkeypatch.setattr(differential_strategy, "newest_for", lambda versions: (list(versions), newest)[1])
    monkeypatch.setattr(differential_strategy, "versions_that_tell", lambda targets: targets[:1])
    monkeypatch.setattr(differential_strategy, "registered", lambda runner, target: ("Pass",))
    torch = Target("torch:eager", "torch")
    quick = (torch, *(Target(f"t{n}", f"t{n}") for n in range(count - 1)))
    steps, limits = Steps(slow_share=0.25), []
    steps._job.layout = steps._job.ends = steps._job.patience = None
    steps._job.journal = SimpleNamespace(looks_into=steps.told.append)
    steps._later = (SLOW,)
    steps.steering.limit = steps.corpus.limit = limits.append
    steps.steering.passes = SimpleNamespace(register=lambda target, names: steps.told.append((target.name, names)))
    runner: Any = SimpleNamespace(targets=(*quick, WITNESS))
    assert steps.begin(runner) == (*quick, WITNESS, SLOW)
    assert (steps._quick, steps._witnesses) == (quick, (WITNESS,))
    assert made["SeedTurns"][1] == {"many": many}
    assert made["Sampling"] == (((SLOW,), 0.25, steps._job.counts), {"until": 1050.0})
    assert made["SlowTargets"][0][2] == 100.0
    assert made["Triage"][1]["longest"] == 10.0
    assert limits == ([] if newest == NEWEST else [newest, newest])
    told = [(t.name, f"{t.name} {t.version}") for t in runner.targets]
    assert steps.told == [("stored", told, 8, 50.0), ("torch:eager", ("Pass",))]


def test_what_is_learnt_is_stored_now_or_now_and_then() -> None:
    steps = Steps()
    steps._job.number = 4
    steps.steering.tell = lambda database, number, now: steps.told.append((database, number, now))
    steps.save()
    steps.save(now=True)
    assert steps.told == [(steps._job.database, 4, False), (steps._job.database, 4, True)]


def test_what_was_added_to_the_corpus_is_taken_in() -> None:
    steps = Steps()
    steps.steering.absorb = lambda: steps.told.append(("absorb",))
    steps.corpus.seeds = lambda: ["s"]
    steps._samples.alone = lambda seeds: [(0, len(seeds))]
    steps.absorb()
    assert steps.told == [("absorb",)]
    assert steps._alone == [(0, 1)]
