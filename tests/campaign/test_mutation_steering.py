"""A job that is started again goes on with what its search had learnt, as if it had never stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest

from irfuzz.campaign.config import Config
from irfuzz.campaign.corpus.feature_count_memory import FEATURES
from irfuzz.campaign.corpus.feature_holders import cost_of
from irfuzz.campaign.corpus.mutation_steering import (
    AIMS,
    ASKED,
    COVERAGE,
    FUSIONS,
    LEARNT,
    LINES,
    PASSES,
    TELL,
    TELLING,
    TRIGGERS,
    RunWorth,
    Steering,
    plan_of,
)
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.testcase import Testcase
from irfuzz.choices import Choices
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.drawn_calls.insert_neighbours import InsertNeighbours
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_protocol import Edit, Relation
from irfuzz.mutate.mutator_table import campaign_weights
from irfuzz.search.strategies.strategy_table import USES
from irfuzz.spec import Specs
from irfuzz.store.database import Database
from tests.campaign.test_program_corpus import row

pytestmark = pytest.mark.unit


def started(database: Database) -> tuple[Corpus, Steering]:
    """As a job does it."""
    corpus = Corpus(database)
    steering = Steering(Config(edits=2), corpus, FeatureCounts(), NEWEST)
    steering.recall(database, 0)
    for program in corpus.refresh():
        steering.add(program)
    return corpus, steering


def work(corpus: Corpus, steering: Steering, first: int, last: int) -> list[object]:
    """What is mutated, how, and what it brings to coverage."""
    done: list[object] = []
    for n in range(first, last):
        choices = Choices.from_seed(n)
        entry = steering.parent(choices)
        mutant, plan = steering.mutate(entry, corpus.program(entry), choices)
        if mutant is not None:
            steering.count(Testcase(0, n, entry, corpus.program(entry), mutant.program, mutant.edits, plan))
        done.append((entry.digest, plan, steering.frontier.covered))
    return done


def test_a_job_goes_on_with_what_it_learnt(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    for n in range(1, 7):
        database.add_program(row(n, n, ""))
    corpus, steering = started(database)
    work(corpus, steering, 0, 40)
    steering.tell(database, 0, now=True)
    again, later = started(database)
    assert later.search.state() == steering.search.state()
    assert later.frontier.state() == steering.frontier.state()
    assert again.state() == corpus.state()
    assert sum(times for _, times in again.state()["picked"]) >= 35
    assert later._seen.state() == steering._seen.state()
    assert not again._decoded, "programs are read when they are drawn"
    assert (
        steering.search.state()["mutators"]
        != Steering(Config(), again, FeatureCounts(), NEWEST).search.state()["mutators"]
    )
    # A component that takes no newer models makes the engine anew, and the search with it.
    later.limit(17)
    assert later.search.state() == steering.search.state()
    database.set(f"{LEARNT}0", '{"schema": 0}')
    assert started(database)[1].search.state() != steering.search.state(), "what another version wrote is left alone"


@pytest.mark.parametrize(("schema", "name", "read"), [(2, "", True), (1, "", False), (3, "", False), (2, "x", False)])
def test_what_jobs_have_written_so_far_is_read(tmp_path: Path, schema: int, name: str, read: bool) -> None:
    """A campaign is continued by later versions of irfuzz as well; only what means something else is left out."""
    database = Database(tmp_path / "c.sqlite")
    for n in range(1, 4):
        database.add_program(row(n, n, ""))
    corpus, steering = started(database)
    work(corpus, steering, 0, 5)
    steering.tell(database, 0, now=True)
    new = Steering(Config(), corpus, FeatureCounts(), NEWEST).search.state()
    text = database.settings()[f"{LEARNT}0"]
    assert json.loads(text)["schema"] == 2
    assert json.loads(text)["name"] == Config().search
    database.set(f"{LEARNT}0", json.dumps({**json.loads(text), "schema": schema, "name": name or Config().search}))
    _, later = started(database)
    assert later.search.state() == (steering.search.state() if read else new)


def test_without_what_it_covered_a_job_counts_every_program_again(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    for n in range(1, 4):
        database.add_program(row(n, n, ""))
    corpus, steering = started(database)
    assert steering.frontier.covered > 0
    steering.tell(database, 0, now=True)
    database.set(f"{COVERAGE}0", "")
    again, later = started(database)
    assert again.state() == corpus.state()
    assert later.frontier.state() == steering.frontier.state()
    assert later._seen.state() == steering._seen.state()


class Planned:
    """A search that plans one edit by a mutator of its own."""

    def plan(self, entry: object, choices: Choices, most: int) -> tuple[str | None, ...]:
        return ("planned", str(most))


def plans(program: Program, *mutators: str) -> list[tuple[str | None, ...]]:
    search, entry = Planned(), object()
    return [
        plan_of(search, entry, program, Choices.from_seed(n), 3, mutators)  # type: ignore[arg-type]
        for n in range(200)
    ]


def test_a_program_that_only_copies_becomes_a_call_most_of_the_time() -> None:
    copies = sprouts()["sprout-float-3x3-17"]
    computes = Program.from_proto(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }',
        ),
    )
    drawn = plans(copies, InsertNeighbours.name)
    assert set(drawn) == {(InsertNeighbours.name,), ("planned", "3")}
    assert 0.75 < drawn.count((InsertNeighbours.name,)) / len(drawn) < 0.95
    assert set(plans(copies)) == {("planned", "3")}, "where the mutator is not wanted"
    assert set(plans(computes, InsertNeighbours.name)) == {("planned", "3")}


def steering_of(tmp_path: Path, **config: object) -> tuple[Database, Steering, Testcase]:
    database = Database(tmp_path / "c.sqlite")
    database.add_program(row(1, 1, ""))
    corpus = Corpus(database)
    steering = Steering(Config(**config), corpus, FeatureCounts(), NEWEST)  # type: ignore[arg-type]
    for program in corpus.refresh():
        steering.add(program)
    entry = steering.parent(Choices.from_seed(0))
    return database, steering, Testcase(0, 1, entry, corpus.program(entry), corpus.program(entry))


VALID = next(r for r in Relation if r is not Relation.INVALID)


def edit(relation: Relation = VALID, pattern: str = "") -> Edit:
    return Edit("m", 1, "site", (), relation, "detail", pattern)


def test_who_is_asked_which_passes_changed_a_program(tmp_path: Path) -> None:
    _, steering, seed = steering_of(tmp_path)
    mutant = replace(seed, edits=(edit(),))
    assert steering.asks(seed, 0) is None, "no target has told its passes yet"
    target = Target("onnxruntime@1.31.1:all", "onnxruntime", version="1.31.1")
    steering.passes.register(target, ("GeluFusionL1",))
    wanted = steering.passes.asks()
    assert wanted is not None
    assert steering.asks(seed, 0) == wanted
    assert steering.asks(mutant, 0) is None
    assert steering.asks(mutant, 1) == wanted
    assert steering.asks(replace(mutant, edits=(edit(pattern="p"),)), 0) == wanted
    assert steering.asks(replace(mutant, iteration=ASKED), 0) == wanted
    assert steering.asks(replace(mutant, iteration=ASKED + 1), 0) is None
    invalid = replace(mutant, edits=(edit(Relation.INVALID, "p"),), iteration=ASKED)
    assert steering.asks(invalid, 5) is None


def test_fusion_patterns_of_seeds_are_counted_when_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other programs were counted by the job that made them."""
    database = Database(tmp_path / "c.sqlite")
    for n, parent in enumerate(("", "", "seed"), 1):
        database.add_program(row(n, n, parent))
    corpus = Corpus(database)
    steering = Steering(Config(), corpus, FeatureCounts(), NEWEST)
    counted: list[Program] = []
    monkeypatch.setattr(steering, "fusions", SimpleNamespace(add=counted.append))
    programs = []
    for program in corpus.refresh():
        programs.append(program)
        steering.add(program)
    assert (len(programs), counted) == (3, programs[:2])


def test_what_draws_on_a_parent_are_worth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, steering, seed = steering_of(tmp_path)
    monkeypatch.setattr(steering.aims, "worths", lambda digest: {"a": 4.0, "b": 3.0} if digest else {})
    monkeypatch.setattr(steering.triggers, "favours", lambda: {"b": 0.5, "c": 0.25})
    assert steering._favours(seed.entry) == {"a": 4.0, "b": 1.5, "c": 0.25}


@pytest.mark.parametrize(("edited", "noted"), [(True, 1), (False, 0)])
def test_only_mutants_avoid_what_they_hang_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: bool, noted: int
) -> None:
    _, steering, seed = steering_of(tmp_path)
    told: list[tuple[object, ...]] = []
    monkeypatch.setattr(steering.triggers, "add", lambda *given: told.append(given))
    mutant = replace(seed, edits=(edit(pattern="p"),)) if edited else seed
    targets = (Target("quick", "quick"), Target("slow", "slow", slow=True))
    steering.disagreed(mutant, [], [RunResult(t, Stage.RUN, Exit.OK) for t in targets])
    assert told == [([], mutant.program, ("p",), {"slow"})] * noted


def test_a_mutant_that_could_not_be_made_is_told_to_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, steering, seed = steering_of(tmp_path)
    learnt: list[object] = []
    monkeypatch.setattr(steering.engine, "mutate", lambda *given, **options: None)
    monkeypatch.setattr(steering.search, "learn", lambda *given: learnt.append(given[2]))
    mutant, plan = steering.mutate(seed.entry, seed.parent, Choices.from_seed(1))
    assert mutant is None
    assert 1 <= len(plan) <= Config().edits
    (outcome,) = learnt
    assert (outcome.applied, outcome.gain, outcome.features) == ((), 0, 0)  # type: ignore[attr-defined]
    assert outcome.nodes == seed.entry.nodes  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("config", "named", "weighted"),
    [
        ({}, None, True),
        ({"mutators": ("insert-layer",)}, ("insert-layer",), False),
        ({"search": "random"}, USES["random"], False),
        ({"search": "random", "mutators": ("insert-layer",)}, ("insert-layer",), False),
    ],
)
def test_which_mutators_are_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: dict[str, object],
    named: tuple[str, ...] | None,
    weighted: bool,
) -> None:
    """Weights are those of all of them."""
    asked: list[tuple[object, object]] = []

    def engine(specs: Specs, names: tuple[str, ...] | None, **options: object) -> Engine:
        asked.append((names, options["weights"]))
        return Engine(specs, names, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(f"{Steering.__module__}.Engine", engine)
    steering_of(tmp_path, **config)
    assert asked == [(named, campaign_weights() if weighted else None)]


@pytest.mark.parametrize(
    ("new", "keep", "asked", "kept"),
    [(1, False, True, 1), (0, True, True, 1), (0, False, True, 0), (1, True, True, 1), (1, True, False, 0)],
)
def test_what_a_parent_fired_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: int, keep: bool, asked: bool, kept: int
) -> None:
    _, steering, seed = steering_of(tmp_path)
    told: list[str] = []
    aims = SimpleNamespace(ran=lambda patterns, runs: None, keep=lambda digest, runs: told.append(digest))
    monkeypatch.setattr(steering, "aims", aims)
    monkeypatch.setattr(steering, "lines", SimpleNamespace(add=lambda results: new))
    assert steering.ran(replace(seed, keep=keep, asks={} if asked else None), []).keep is (new > 0)
    assert told == [seed.program.digest] * kept


def test_what_a_mutant_brings_is_counted_once(tmp_path: Path) -> None:
    _, steering, seed = steering_of(tmp_path, mutators=("insert-layer",))
    assert tuple(steering.engine.mutators) == ("insert-layer",)
    made, plan = steering.mutate(seed.entry, seed.parent, Choices.from_seed(1))
    assert made is not None
    mutant = replace(seed, program=made.program, edits=made.edits, plan=plan)
    worth = steering.count(mutant)
    assert (worth.features > 0, worth.keep, len(worth.brings) >= 8, worth.cost) == (
        True,
        True,
        True,
        cost_of(made.program),
    )
    again = steering.count(mutant)
    assert (again.features, again.keep, again.brings) == (0, False, b"")


def test_what_a_run_was_the_first_to_fire_is_credited_to_its_edits(tmp_path: Path) -> None:
    _, steering, seed = steering_of(tmp_path)
    target = Target("onnxruntime@1.31.1:all", "onnxruntime", version="1.31.1")
    steering.passes.register(target, ("GeluFusionL1", "ConstantFolding"))
    fired = [RunResult(target, Stage.RUN, Exit.OK, passes=("GeluFusionL1",))]
    lines = [RunResult(target, Stage.RUN, Exit.OK, lines={"onnx": {"a.py": [1, 2]}})]
    mutant = replace(seed, edits=(edit(),), asks={}, cost=9)
    assert steering.ran(replace(mutant, asks=None), fired) == RunWorth(), "it was not asked"
    first = steering.ran(mutant, fired)
    assert (first.keep, len(first.brings)) == (True, 8), "one pass"
    assert steering.ran(mutant, fired) == RunWorth()
    assert steering.ran(replace(mutant, asks=None), lines).keep is True
    assert [(one[1], one[2]) for one in steering._credits] == [(("m",), 1), (("m",), 2)]
    constant = [RunResult(target, Stage.RUN, Exit.OK, passes=("ConstantFolding",))]
    assert steering.ran(replace(seed, asks={}), constant) == RunWorth(), "a seed is no mutant"
    more = [RunResult(target, Stage.RUN, Exit.OK, lines={"onnx": {"a.py": [3]}})]
    assert steering.ran(seed, more).keep is True
    assert len(steering._credits) == 2
    steering.credit()
    assert steering._credits == []


def test_a_job_tells_now_and_then_and_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, steering, _ = steering_of(tmp_path, python_coverage=True)
    now = [100.0]
    monkeypatch.setattr(f"{Steering.__module__}.time.monotonic", lambda: now[0])
    keys = (COVERAGE, FUSIONS, PASSES, AIMS, TRIGGERS, LINES, LEARNT)

    def told() -> set[str]:
        before = {key for key in keys if database.settings().get(f"{key}7", "") != "-"}
        for key in keys:
            database.set(f"{key}7", "-")
        return before

    told()
    steering.tell(database, 7)
    assert told() == {COVERAGE, AIMS, TRIGGERS, LINES, LEARNT, *([FUSIONS] if steering.fusions.covered else [])}
    now[0] += TELL - 0.5
    steering.tell(database, 7)
    assert told() == set()
    steering.tell(database, 7, now=True)
    assert told() == {AIMS, TRIGGERS, LINES, LEARNT}
    now[0] += TELL
    target = Target("onnxruntime@1.31.1:all", "onnxruntime", version="1.31.1")
    steering.passes.register(target, ("GeluFusionL1",))
    steering.passes.add([RunResult(target, Stage.RUN, Exit.OK, passes=("GeluFusionL1",))], "d")
    steering.tell(database, 7)
    assert told() == {PASSES, AIMS, TRIGGERS, LINES, LEARNT}


def test_lines_are_told_only_if_they_are_counted(tmp_path: Path) -> None:
    database, steering, _ = steering_of(tmp_path)
    steering.tell(database, 7, now=True)
    assert f"{LINES}7" not in database.settings()


def test_a_job_takes_little_of_its_time_to_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, steering, _ = steering_of(tmp_path)
    now, ticks = [100.0], iter([0.0, TELL * TELLING * 2.5, 1.0, 1.0])
    # Not the clocks of the whole process: the database looks at one, too.
    clocks = SimpleNamespace(monotonic=lambda: now[0], process_time=lambda: next(ticks))
    monkeypatch.setattr(f"{Steering.__module__}.time", clocks)

    def told() -> bool:
        steering.tell(database, 7)
        text = database.settings().get(f"{FEATURES}7", "")
        database.set(f"{FEATURES}7", "")
        now[0] += TELL
        return bool(text)

    assert [told() for _ in range(4)] == [True, False, False, True]
    assert steering._pause == TELL
