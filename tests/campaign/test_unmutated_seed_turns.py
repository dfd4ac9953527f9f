"""Seeds run as they are first, or now and then beside many targets, and one that kills the job is left behind."""

from __future__ import annotations

from collections import Counter

import pytest

from irfuzz.campaign.corpus.unmutated_seed_turns import DEFERRED, SPREAD, SeedTurns

pytestmark = pytest.mark.unit

RUNS = [(0, 0), (1, 0), (2, 0), (0, 1)]


def test_with_few_targets_all_come_first() -> None:
    turns = SeedTurns(Counter(), many=False)
    found = []
    for iteration in range(6):
        found.append(turns.turn(iteration, RUNS))
        turns.took(9.0, seed=found[-1] is not None)
    assert found == [*RUNS, None, None]


def test_with_many_targets_every_fourth_iteration_is_a_seeds_if_seeds_are_small() -> None:
    turns = SeedTurns(Counter(), many=True)
    found = []
    for iteration in range(5 * SPREAD):
        found.append(turns.turn(iteration, RUNS))
        turns.took(0.05 if found[-1] else 0.1, seed=found[-1] is not None)
    assert [place for place, turn in enumerate(found) if turn] == [0, SPREAD, 2 * SPREAD, 3 * SPREAD]
    assert [turn for turn in found if turn] == RUNS


def test_large_seeds_have_a_quarter_of_the_time() -> None:
    counts, seeds, others = Counter[str](), 0.0, 0.0
    turns = SeedTurns(counts, many=True)
    places = []
    for iteration in range(400):
        seed = turns.turn(iteration, RUNS)
        turns.took(8.0 if seed else 0.2, seed=seed is not None)
        seeds, others = seeds + 8.0 * bool(seed), others + 0.2 * (not seed)
        places += [seed] if seed else []
    assert places == RUNS, "they come in their order"
    assert seeds <= 0.25 * (seeds + others) + 8.0
    assert counts[DEFERRED] > 0


def test_one_that_kills_the_job_is_left_behind_though_counts_are_those_of_before() -> None:
    turns = SeedTurns(Counter({DEFERRED: 2}), many=True)
    assert turns.turn(3 * SPREAD, RUNS) == (1, 0)
    again = SeedTurns(Counter({DEFERRED: 0}), many=True)
    assert again.turn(4 * SPREAD, RUNS) is None or again.turn(4 * SPREAD, RUNS) != (1, 0)
