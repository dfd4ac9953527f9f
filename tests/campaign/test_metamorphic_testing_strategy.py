"""A whole job of self-tests in this process: seeds have their turns, every form is run, contradictions are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import STOP_AT, Config
from irfuzz.campaign.job import Job
from irfuzz.campaign.metamorphic_testing_strategy import DEAR, SelfTests
from irfuzz.campaign.self_testing.equivalent_form_testing import FormRuns
from irfuzz.campaign.self_testing.rounds_until_deadline import ROUND
from irfuzz.choices import Choices
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program
from tests.campaign.running import planted

pytestmark = [pytest.mark.planted, pytest.mark.timeout(200)]

PROGRAMS = 4


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory, tiny: Path, root: Path) -> Iterator[Job]:
    """A job that has run on a faithful target."""
    out = tmp_path_factory.mktemp("campaign")
    with contextlib.chdir(root):
        with Campaign(out, Config(seed=3, jobs=1, targets=(planted("Faithful"),), reduce=1.0)) as campaign:
            campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
            campaign.database.set(STOP_AT, str(PROGRAMS))
        ran = Job(out, 0, "self-test")
        ran.run()
        yield ran


def strategy_of(job: Job) -> SelfTests:
    assert isinstance(job.strategy, SelfTests)
    return job.strategy


def test_every_program_runs_with_its_forms(job: Job) -> None:
    counts = job.counts
    assert (job.programs, counts["internal errors"]) == (PROGRAMS, 0)
    assert not list(job.layout.internal.glob("*"))
    assert counts["runs"] == PROGRAMS
    assert counts["forms"] > ROUND
    assert counts["corpus"] >= job.database.corpus_size() - 1, "some may have left"
    assert all(row.signature.startswith("equivalence|") for row in job.database.findings())


def test_a_seed_has_its_first_turn_then_every_second_one(job: Job) -> None:
    strategy = strategy_of(job)
    entry = strategy.corpus.seed(0)
    fitting = strategy._engine.fitting(strategy.corpus.program(entry))
    assert fitting > ROUND
    rounds = []
    for iteration in range(2 * DEAR + 3):
        turn = strategy._turn(iteration)
        rounds.append(None if turn is None else turn.round)
        if turn is not None:
            assert turn.entry is entry
            assert turn.since == turn.round * ROUND
            assert turn.forms == min(ROUND, max(0, fitting - turn.since))
    seeds = [n for n in rounds if n is not None]
    assert seeds == list(range(len(seeds)))
    last = max(DEAR, -(-fitting // ROUND))
    assert rounds[:4] == [0, 1, None, 2]
    assert rounds == [0, *(n for k in range(1, DEAR + 2) for n in (k if k < last else None, None))]


def test_a_job_has_its_share_of_the_seeds(job: Job) -> None:
    strategy = strategy_of(job)
    assert strategy._job.config.jobs == 1
    number = job.number
    try:
        job.number = 1
        assert [strategy._turn(iteration) for iteration in range(3)] == [None] * 3, "job 1 of one seed has none"
    finally:
        job.number = number


def test_a_mutant_is_made_where_no_seed_has_its_turn(job: Job) -> None:
    strategy = strategy_of(job)
    entry = strategy.corpus.seed(0)
    parent, choices = strategy.corpus.program(entry), Choices.from_seed(1)
    seed = strategy.mutate(entry, parent, choices, 1)
    assert seed is not None
    assert (seed.edits, seed.program, seed.iteration) == ((), parent, 1)
    made = [strategy.mutate(entry, parent, Choices.from_seed(n), 2) for n in range(6)]
    mutants = [one for one in made if one is not None]
    assert mutants
    assert all(one.edits and one.program is not parent for one in mutants)
    assert strategy.schedule(Choices.from_seed(0), 1) is entry
    fed = strategy.feed(seed, choices)
    assert set(fed.inputs) == {"x"}
    assert fed.whole


def test_only_mutants_that_ran_become_parents(job: Job) -> None:
    strategy = strategy_of(job)
    entry = strategy.corpus.seed(0)
    parent = strategy.corpus.program(entry)
    seed = strategy.mutate(entry, parent, Choices.from_seed(1), 1)
    mutants = [strategy.mutate(entry, parent, Choices.from_seed(n), 2) for n in range(100, 130)]
    assert seed is not None
    ran = RunResult(Target("t", "t"), Stage.RUN, Exit.OK)
    size = job.database.corpus_size()
    strategy.keep(seed, FormRuns("m", parent, {}, [ran], {}))
    for mutant in mutants:
        if mutant is not None:
            strategy.keep(replace(mutant, whole=mutant.program.to_bytes()), FormRuns("m", parent, {}, [], {}))
    assert job.database.corpus_size() == size


def test_contradictions_of_ways_and_forms_are_looked_for(job: Job) -> None:
    strategy = strategy_of(job)
    entry = strategy.corpus.seed(0)
    parent = strategy.corpus.program(entry)
    seed = strategy.mutate(entry, parent, Choices.from_seed(1), 1)
    assert seed is not None
    before = job.counts["runs"]
    runs = FormRuns("m", parent, {}, [], {})
    assert strategy.judge(seed, runs) == (runs, [])
    assert job.counts["runs"] == before
    assert strategy.execute([]) == []
