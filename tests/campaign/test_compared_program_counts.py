"""A campaign says how many of its programs could be compared, and first of all if they were few."""

from __future__ import annotations

from collections import Counter

import pytest

from irfuzz.campaign.targets import compared_program_counts
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target


def ran(name: str, end: Exit = Exit.OK, error: str = "") -> RunResult:
    return RunResult(Target(name, name), Stage.RUN, end, error=error)


def counted(*programs: list[RunResult]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for results in programs:
        compared_program_counts.count(results, counts)
    return counts


BOTH = [ran("a"), ran("b"), ran("c", Exit.REJECTED, "no")]
ONE = [ran("a"), ran("b", Exit.REJECTED, "axis 7 of 'x': negative dimensions\nmore"), ran("c", Exit.REJECTED, "no")]


def test_two_targets_make_a_comparison_and_one_does_not() -> None:
    counts = counted(BOTH, ONE)
    assert counts[compared_program_counts.COMPARED] == 1
    assert counts[compared_program_counts.ALONE] == 1


def test_nothing_is_counted_if_there_is_but_one_target() -> None:
    counts = counted([ran("a", Exit.REJECTED, "no")])
    assert not counts
    assert compared_program_counts.share(counts) is None
    assert compared_program_counts.warning(counts) is None


@pytest.mark.parametrize(("programs", "told"), [([BOTH, ONE], False), ([BOTH, ONE, ONE], True)])
def test_less_than_half_is_told_first_with_the_most_frequent_reason(
    programs: list[list[RunResult]], told: bool
) -> None:
    text = compared_program_counts.warning(counted(*programs))
    assert (text is not None) is told
    if text is not None:
        why = "2 times b: rejected at run: axis # of 'x': negative dimensions"
        assert text == f"only 1 of 3 programs ran on two targets or more; {why}"


def test_only_so_many_reasons_are_kept() -> None:
    words = [chr(ord("a") + i) for i in range(compared_program_counts.MOST + 3)]
    counts = counted(*([ran("a"), ran("b", Exit.REJECTED, word)] for word in words), ONE[:1] + ONE[2:])
    assert sum(name.startswith(compared_program_counts.WHY) for name in counts) == compared_program_counts.MOST
    assert counts[compared_program_counts.ALONE] == compared_program_counts.MOST + 4
