"""A job that is started again goes on with what its search had learnt, as if it had never stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from irfuzz.campaign.config import Config
from irfuzz.campaign.corpus.mutation_steering import LEARNT, Steering
from irfuzz.campaign.corpus.parent_selection import Corpus
from irfuzz.campaign.corpus.testcase import Testcase
from irfuzz.choices import Choices
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.store.database import Database
from tests.campaign.test_parent_selection import row

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
    assert again.picked() == corpus.picked()
    assert sum(again.picked()) >= 35
    assert (
        steering.search.state()["mutators"]
        != Steering(Config(), again, FeatureCounts(), NEWEST).search.state()["mutators"]
    )
    # A component that takes no newer models makes the engine anew, and the search with it.
    later.limit(17)
    assert later.search.state() == steering.search.state()
    database.set(f"{LEARNT}0", '{"schema": 0}')
    assert started(database)[0].picked() == [0] * 6, "what another version has written is left alone"
