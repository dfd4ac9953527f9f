"""Slow targets: their share of the time is kept, one runs at a time, and it is had again after a restart."""

from __future__ import annotations

from collections import Counter

import pytest

from irfuzz.campaign.targets.slow_sampling import BUSY, FIRST, SAMPLED, SLOW, Sampling, share_of
from irfuzz.execute.run_types import Target

pytestmark = pytest.mark.unit

CHEAP, DEAR = (Target(name, name, slow=True) for name in ("cheap", "dear"))
COST = {"cheap": 0.5, "dear": 8.0}


class Clock:
    """Seconds that the test lets pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def campaign(
    sampling: Sampling, clock: Clock, novelties: list[int], each: float = 0.1, warm_up: float = 4.0
) -> dict[str, list[int]]:
    """Run programs of so much novelty, each of which takes the quick targets ``each`` seconds."""
    ran: dict[str, list[int]] = {"cheap": [], "dear": []}
    for novelty in novelties:
        clock.now += each
        target = sampling.turn(novelty)
        if target is None:
            continue
        if not sampling.is_warm(target):
            clock.now += warm_up
            sampling.warmed_up(target, warm_up)
            continue
        ran[target.name].append(novelty)
        clock.now += COST[target.name]
        sampling.ran(target, COST[target.name])
    return ran


def test_the_share_is_kept_and_split() -> None:
    clock, counts = Clock(), Counter[str]()
    ran = campaign(Sampling([CHEAP, DEAR], 0.25, counts, clock), clock, [1] * 5000)
    share = share_of(counts)
    assert share is not None
    assert 0.22 < share <= 0.26
    assert len(ran["cheap"]) > 10 * len(ran["dear"]) > 0
    assert counts["cheap sampled"] == len(ran["cheap"])
    assert counts["cheap milliseconds"] == pytest.approx(counts["dear milliseconds"], rel=0.2)
    assert counts[SAMPLED] == len(ran["cheap"]) + len(ran["dear"])


def test_what_cheap_ones_cannot_spend_goes_to_dear_ones() -> None:
    cost, clock, counts = {"cheap": 0.002, "dear": 2.0}, Clock(), Counter[str]()
    sampling = Sampling([CHEAP, DEAR], 0.25, counts, clock)
    for _ in range(1500):
        clock.now += 0.3
        target = sampling.turn(1)
        if target is None:
            continue
        took = cost[target.name] if sampling.is_warm(target) else 1.0
        clock.now += took
        (sampling.ran if sampling.is_warm(target) else sampling.warmed_up)(target, took)
    share = share_of(counts)
    assert share is not None
    assert 0.2 < share <= 0.26
    assert counts["dear sampled"] > 50
    assert counts["cheap sampled"] >= counts["dear sampled"]


def test_the_limit_holds_from_the_first_program() -> None:
    clock, counts = Clock(), Counter[str]()
    sampling = Sampling([CHEAP, DEAR], 0.25, counts, clock)
    clock.now += FIRST / 0.25 - 1
    assert sampling.turn(1) is None  # the first warm-up is not earned yet
    clock.now += 1
    assert sampling.turn(1) == CHEAP
    clock.now += 40.0
    sampling.warmed_up(CHEAP, 40.0)  # it took four times what was expected: nothing runs until that is earned, too
    for _ in range(700):
        clock.now += 0.1
        assert sampling.turn(1) is None
        assert counts[SLOW] > 0.25 * counts[BUSY]
    clock.now += 90.0
    assert sampling.turn(1) == CHEAP  # which has run no program


def test_a_dear_warm_up_is_followed_by_a_program() -> None:
    clock = Clock()
    sampling = Sampling([CHEAP, DEAR], 0.25, Counter(), clock)
    clock.now += 1000
    assert sampling.turn(1) == CHEAP
    sampling.warmed_up(CHEAP, 60.0)
    assert sampling.turn(1) == CHEAP  # though it has had more time than the other
    sampling.ran(CHEAP, 0.5)
    assert sampling.turn(1) == DEAR


def test_warm_ups_count() -> None:
    clock, counts = Clock(), Counter[str]()
    campaign(Sampling([CHEAP, DEAR], 0.25, counts, clock), clock, [1] * 2000, warm_up=9.0)
    assert counts["cheap warm-up milliseconds"] == counts["dear warm-up milliseconds"] == 9000
    assert counts["dear milliseconds"] == 9000 + 8000 * counts["dear sampled"]
    assert counts[SLOW] == counts["cheap milliseconds"] + counts["dear milliseconds"]


def test_the_newest_programs_are_chosen() -> None:
    clock, counts = Clock(), Counter[str]()
    sampling = Sampling([CHEAP], 0.2, counts, clock)
    novelties = [50 if i % 25 == 24 else i % 7 for i in range(3000)]
    ran = campaign(sampling, clock, novelties)["cheap"]
    assert ran.count(50) > 0.7 * novelties.count(50)
    assert ran.count(50) > 0.5 * len(ran)


def test_nothing_dear_runs_before_its_time_is_earned() -> None:
    clock, counts = Clock(), Counter[str]()
    assert campaign(Sampling([DEAR], 0.1, counts, clock), clock, [9] * 100)["dear"] == []
    assert share_of(counts) is None


def test_nothing_begins_that_the_end_would_cut_off() -> None:
    for until, wanted in ((100.0 + FIRST / 0.25 + FIRST + 0.1, CHEAP), (100.0 + FIRST / 0.25 + FIRST - 0.1, None)):
        clock = Clock()
        sampling = Sampling([CHEAP], 0.25, Counter(), clock, until=until)
        clock.now += FIRST / 0.25
        assert sampling.turn(1) == wanted


def test_a_continued_campaign_goes_on_with_its_account() -> None:
    clock, counts = Clock(), Counter[str]()
    campaign(Sampling([DEAR], 0.25, counts, clock), clock, [1] * 2000)
    busy = counts[BUSY]
    clock.now += 1000  # nobody is at work meanwhile
    again = Sampling([DEAR], 0.25, counts, clock)
    campaign(again, clock, [1] * 2000)
    assert busy < counts[BUSY] < 2.2 * busy
    share = share_of(counts)
    assert share is not None
    assert 0.2 < share <= 0.26
    assert counts["dear warm-ups"] == 2


def test_without_a_share_none_runs() -> None:
    clock = Clock()
    sampling = Sampling([CHEAP, DEAR], 0.0, Counter(), clock)
    clock.now += 1000
    assert sampling.turn(5) is None


def test_what_took_no_time_yet_stops_nothing() -> None:
    clock, counts = Clock(), Counter[str]()
    sampling = Sampling([CHEAP], 0.2, counts, clock)
    clock.now += 100
    assert sampling.turn(1) == CHEAP
    sampling.warmed_up(CHEAP, 1.0)
    sampling.ran(CHEAP, 0.0)
    clock.now += 1
    assert sampling.turn(1) == CHEAP


def test_one_that_is_dropped_or_cannot_take_a_program_has_no_turn() -> None:
    clock = Clock()
    sampling = Sampling([CHEAP, DEAR], 0.25, Counter(), clock)
    clock.now += 100
    assert sampling.turn(1, lambda target: target is DEAR) == DEAR
    assert sampling.turn(1, lambda target: False) is None
    sampling.drop(CHEAP)
    assert sampling.turn(1) == DEAR
    sampling.drop(DEAR)
    assert sampling.turn(1) is None
