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


@pytest.mark.parametrize(("length", "cut"), [(139, False), (140, True)])
def test_a_reason_has_at_most_160_characters(length: int, cut: bool) -> None:
    """``b: rejected at run: `` has 20 of them; a full stop ends it."""
    counts = counted([ran("a"), ran("b", Exit.REJECTED, "w" * (length + 1))])
    (reason,) = (name for name in counts if name.startswith(compared_program_counts.WHY))
    assert reason == f"not compared: b: rejected at run: {'w' * 140}."
    assert len(reason.removeprefix(compared_program_counts.WHY)) == 161
    assert (length + 1 > 140) is cut


def test_a_target_that_says_nothing_has_no_message() -> None:
    counts = counted([ran("a"), ran("b", Exit.CRASH)])
    assert counts["not compared: b: crash at run: no message."] == 1


def test_a_reason_that_is_kept_is_counted_on() -> None:
    words = [chr(ord("a") + i) for i in range(compared_program_counts.MOST)]
    programs = [[ran("a"), ran("b", Exit.REJECTED, word)] for word in (*words, "a", "new")]
    counts = counted(*programs)
    assert counts["not compared: b: rejected at run: a."] == 2
    assert sum(name.startswith("not compared: ") for name in counts) == 16
    assert "not compared: b: rejected at run: new." not in counts


@pytest.mark.parametrize(
    ("counts", "share", "told"),
    [
        ({}, None, None),
        ({"on two targets": 3}, 1.0, None),
        ({"on two targets": 1, "on fewer than two targets": 1}, 0.5, None),
        ({"on fewer than two targets": 2}, 0.0, "only 0 of 2 programs ran on two targets or more"),
        (
            {"on two targets": 1, "on fewer than two targets": 3, "not compared: b: no.": 1, "not compared: c: x.": 2},
            0.25,
            "only 1 of 4 programs ran on two targets or more; 2 times c: x",
        ),
    ],
)
def test_the_share_that_was_compared(counts: dict[str, int], share: float | None, told: str | None) -> None:
    assert compared_program_counts.share(counts) == share
    assert compared_program_counts.warning(counts) == told
