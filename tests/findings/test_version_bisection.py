"""The release that brought a fault and the one that mended it are found with few questions."""

from __future__ import annotations

import pytest

from irfuzz.findings.blame.introduced_fixed_releases import fixed, fixed_in, introduced, introduced_in
from irfuzz.findings.blame.version_bisection import SKIPS, narrowed
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, VersionAnswer
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

RELEASES = [f"1.{n}" for n in range(32)]


def bisect(shows: range, known: str, unknown: frozenset[int] = frozenset()) -> tuple[dict[str, bool | None], int]:
    """Answers, and how many were asked, for a fault that shows in some releases and one version that is known."""
    asked: list[str] = []

    def ask(version: str) -> bool | None:
        asked.append(version)
        number = int(version[2:])
        return None if number in unknown else number in shows

    answers = narrowed(RELEASES, {known: True}, ask)
    assert len(asked) == len(set(asked))
    return answers, len(asked)


@pytest.mark.parametrize(
    "shows", [range(32), range(7, 32), range(31, 32), range(9), range(1), range(5, 6), range(12, 20)]
)
def test_both_ends_are_found(shows: range) -> None:
    answers, asked = bisect(shows, f"1.{shows[-1]}")
    first, last = shows[0], shows[-1]
    assert answers[f"1.{first}"]
    assert answers[f"1.{last}"]
    assert first == 0 or answers[f"1.{first - 1}"] is False
    assert last == 31 or answers[f"1.{last + 1}"] is False
    assert asked <= 12


def test_releases_that_cannot_be_told_of_are_passed_over() -> None:
    answers, _ = bisect(range(16, 32), "1.31", frozenset({15, 17}))
    assert answers["1.16"]
    assert answers["1.15"] is None
    assert answers["1.14"] is False
    # Old ones that do not take the program are not all asked.
    answers, asked = bisect(range(24, 32), "1.31", frozenset(range(24)))
    assert answers["1.24"]
    assert asked <= 6 + 3 * SKIPS


def test_a_fault_that_no_release_is_known_to_show_is_not_asked_about() -> None:
    assert narrowed(RELEASES, {"1.3": False}, pytest.fail) == {"1.3": False}


def shown(*of: tuple[str, bool | None, str | None]) -> Finding:
    case = FailingCase(b"", b"")
    told = tuple(VersionAnswer(v, v, "", shows, previous=previous) for v, shows, previous in of)
    return Finding(Verdict("o", Symptom.CRASH, "a", ()), case, case, shown=told)


def test_a_release_is_named_only_if_the_one_before_it_was_asked() -> None:
    close = shown(("1.1", False, "1.0"), ("1.2", True, "1.1"), ("1.3", False, "1.2"))
    assert (introduced(close), introduced_in(close)) == ("introduced in 1.2", "1.2")
    assert (fixed(close), fixed_in(close)) == ("fixed in 1.3", "1.3")
    for before in ("1.2", None):  # another release lies between, or nobody knows
        wide = shown(("1.1", False, None), ("1.3", True, before), ("1.6", False, "1.5"))
        assert (introduced(wide), introduced_in(wide)) == ("introduced after 1.1, by 1.3", "")
        assert (fixed(wide), fixed_in(wide)) == ("fixed after 1.3, by 1.6", "")
    always = shown(("1.0", True, ""), ("1.3", True, "1.2"))
    assert (introduced(always), introduced_in(always)) == ("there since 1.0 or before", "")
    assert (fixed(always), fixed_in(always)) == ("", "")
    assert introduced(shown(("1.0", True, None), ("1.3", True, None))) == ""
    assert introduced(shown(("1.0", None, ""), ("1.3", True, "1.0"))) == ""
