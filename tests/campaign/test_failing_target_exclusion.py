"""A target that never comes back is set aside after a count that depends on what a failure costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irfuzz.campaign.targets.failing_target_exclusion import FAILURES, LONGEST, LOST, OTHERS, FailingTargets
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target

pytestmark = pytest.mark.unit

BAD, ONE, TWO = (Target(name, name) for name in ("bad", "one", "two"))


def ran(*ends: tuple[Target, Exit], error: str = "why") -> list[RunResult]:
    return [RunResult(target, Stage.RUN, end, error=error) for target, end in ends]


FINE = ((ONE, Exit.OK), (TWO, Exit.OK))


@pytest.mark.parametrize("end", FAILURES)
def test_a_target_that_always_fails_is_set_aside_after_its_count(end: Exit) -> None:
    failing = FailingTargets()
    for _ in range(FAILURES[end] - 1):
        assert failing.saw(ran((BAD, end), *FINE)) == []
    assert failing.left((ONE, BAD, TWO)) == (ONE, BAD, TWO)
    ((target, why),) = failing.saw(ran((BAD, end), *FINE))
    assert target is BAD
    assert why == f"set aside: it failed on each of {FAILURES[end]} programs, last with {end} at run: why"
    assert (failing.left((ONE, BAD, TWO)), failing.aside) == ((ONE, TWO), {"bad"})
    assert failing.saw(ran((BAD, end), *FINE)) == [], "it is told once"


def test_failures_of_several_kinds_add_up() -> None:
    failing = FailingTargets()
    for _ in range(FAILURES[Exit.CRASH] // 2):
        assert failing.saw(ran((BAD, Exit.CRASH), *FINE)) == []
    assert failing.saw(ran((BAD, Exit.HANG), *FINE)) == []
    assert len(failing.saw(ran((BAD, Exit.HANG), *FINE))) == 1


@pytest.mark.parametrize("end", FAILURES)
def test_failures_that_take_long_are_enough_sooner(end: Exit) -> None:
    failing = FailingTargets()
    slow = [replace(ran((BAD, end))[0], seconds=LOST / 2), *ran(*FINE)]
    assert failing.saw(slow) == []
    assert [target for target, _ in failing.saw(slow)] == [BAD]


@pytest.mark.parametrize("end", [Exit.OK, Exit.UNSUPPORTED])
def test_what_came_back_once_or_has_no_kernels_stays(end: Exit) -> None:
    failing = FailingTargets()
    failing.saw(ran((BAD, end), *FINE))
    told = [one for _ in range(20) for one in failing.saw(ran((BAD, Exit.HANG if end is Exit.OK else end), *FINE))]
    assert told == []


def test_a_program_that_nobody_runs_counts_for_nobody() -> None:
    failing = FailingTargets()
    failing.saw(ran(*FINE))
    assert [failing.saw(ran((BAD, Exit.HANG), (ONE, Exit.HANG))) for _ in range(9)] == [[]] * 9


@pytest.mark.parametrize(("others", "told"), [(OTHERS - 1, 0), (OTHERS, 1)])
def test_two_that_can_be_compared_are_left(others: int, told: int) -> None:
    failing = FailingTargets()
    fine = FINE[:others]
    found = [one for _ in range(FAILURES[Exit.HANG]) for one in failing.saw(ran((BAD, Exit.HANG), *fine))]
    assert len(found) == told


def test_a_long_message_is_cut_to_one_line() -> None:
    failing = FailingTargets()
    results = ran((BAD, Exit.HANG), *FINE, error="x" * 1000 + "\nmore")
    told = [why for _ in range(FAILURES[Exit.HANG]) for _, why in failing.saw(results)]
    assert len(told) == 1
    assert "\n" not in told[0]
    assert len(told[0]) < LONGEST + 80
