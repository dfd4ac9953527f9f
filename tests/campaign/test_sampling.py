"""Slow targets: their share of the time is kept, goes to the newest programs, and is had again after a restart."""

from __future__ import annotations

from collections import Counter

import pytest

from irfuzz.campaign.sampling import BUSY, SAMPLED, Sampling, share_of
from irfuzz.execute.types import Exit, RunResult, Stage, Target

pytestmark = pytest.mark.unit

QUICK = Target("quick", "a")
CHEAP, DEAR = (Target(name, name, slow=True) for name in ("cheap", "dear"))
COST = {"cheap": 0.5, "dear": 8.0}


class Clock:
    """Seconds that the test lets pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def campaign(sampling: Sampling, clock: Clock, novelties: list[int], each: float = 0.1) -> dict[str, list[int]]:
    """Run programs of so much novelty, each of which takes the quick targets ``each`` seconds."""
    ran: dict[str, list[int]] = {"cheap": [], "dear": []}
    for novelty in novelties:
        clock.now += each
        chosen = sampling.turn(novelty)
        for target in chosen:
            ran[target.name].append(novelty)
            clock.now += COST[target.name]
        sampling.ran([RunResult(t, Stage.RUN, Exit.OK, seconds=COST[t.name]) for t in chosen])
    return ran


def test_the_share_is_kept_and_split() -> None:
    clock, counts = Clock(), Counter[str]()
    sampling = Sampling([QUICK, CHEAP, DEAR], 0.25, counts, clock)
    assert sampling.quick == (QUICK,)
    ran = campaign(sampling, clock, [1] * 5000)
    share = share_of(counts)
    assert share is not None
    assert 0.17 < share <= 0.25
    assert len(ran["cheap"]) > 10 * len(ran["dear"]) > 0
    assert counts["cheap sampled"] == len(ran["cheap"])
    assert counts[SAMPLED] >= len(ran["cheap"])


def test_the_newest_programs_are_chosen() -> None:
    clock, counts = Clock(), Counter[str]()
    sampling = Sampling([QUICK, CHEAP], 0.2, counts, clock)
    novelties = [50 if i % 25 == 24 else i % 7 for i in range(3000)]
    ran = campaign(sampling, clock, novelties)["cheap"]
    assert ran.count(50) > 0.8 * novelties.count(50)
    assert ran.count(50) > 0.5 * len(ran)


def test_nothing_dear_runs_before_its_time_is_earned() -> None:
    clock, counts = Clock(), Counter[str]()
    assert campaign(Sampling([QUICK, DEAR], 0.1, counts, clock), clock, [9] * 100)["dear"] == []
    assert share_of(counts) is None


def test_a_continued_campaign_goes_on_with_its_account() -> None:
    clock, counts = Clock(), Counter[str]()
    campaign(Sampling([QUICK, DEAR], 0.25, counts, clock), clock, [1] * 2000)
    busy = counts[BUSY]
    clock.now += 1000  # nobody is at work meanwhile
    again = Sampling([QUICK, DEAR], 0.25, counts, clock)
    campaign(again, clock, [1] * 2000)
    assert busy < counts[BUSY] < 2.2 * busy
    share = share_of(counts)
    assert share is not None
    assert 0.17 < share <= 0.25


def test_where_all_are_slow_all_run_each_time() -> None:
    sampling = Sampling([CHEAP, DEAR], 0.25, Counter())
    assert sampling.quick == (CHEAP, DEAR)
    assert sampling.turn(5) == ()


def test_what_took_no_time_yet_stops_nothing() -> None:
    clock, counts = Clock(), Counter[str]()
    sampling = Sampling([QUICK, CHEAP], 0.25, counts, clock)
    clock.now += 100
    assert sampling.turn(1) == (CHEAP,)
    sampling.ran([RunResult(CHEAP, Stage.CONVERT, Exit.UNSUPPORTED, seconds=0.0)])
    clock.now += 1
    assert sampling.turn(1) == (CHEAP,)
