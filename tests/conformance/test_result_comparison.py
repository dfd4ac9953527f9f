"""What became better and worse between two versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irfuzz.conformance.result_comparison import compare_results
from irfuzz.conformance.target_results import CaseStatus
from irfuzz.errors import UsageError
from irfuzz.report.command_reports.conformance_table import comparison_text
from tests.conformance.test_target_results import outcome, results

pytestmark = pytest.mark.unit
S = CaseStatus


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (S.RIGHT, S.REFUSES, "worse"), (S.REFUSES, S.WRONG, "worse"), (S.WRONG, S.HANGS, "worse"),
        (S.HANGS, S.DIES, "worse"), (S.WRONG, S.REFUSES, "better"), (S.DIES, S.RIGHT, "better"),
        (S.RIGHT, S.UNDECIDED, "other"), (S.UNDECIDED, S.DIES, "other"),
    ],
)  # fmt: skip
def test_a_change_is_for_better_or_worse(before: CaseStatus, after: CaseStatus, change: str) -> None:
    (found,) = compare_results([results(outcome("a", before))], [results(outcome("a", after))])
    (row,) = found.to_json()["changed"]
    assert (row["change"], bool(found.worse)) == (change, change == "worse")


def test_only_cases_that_are_the_same_are_compared_and_the_worse_come_first() -> None:
    old = results(*(outcome(name, S.RIGHT) for name in "abcd"), outcome("e", S.WRONG))
    new = results(outcome("a", S.RIGHT), replace(outcome("b", S.WRONG), digest="x"), outcome("d", S.DIES),
                  outcome("e", S.RIGHT), outcome("f", S.WRONG))  # fmt: skip
    (found,) = compare_results([old], [new])
    assert (found.same, found.other) == (3, 3)
    assert [(case.after.case, case.worse) for case in found.changed] == [("d", True), ("e", False)]
    assert comparison_text([found]).splitlines() == [
        "t 1 -> t 1: of 3 cases 1 worse, 1 better, 0 otherwise changed; 3 cannot be compared",
        "  worse: d (Neg): right -> dies; why",
        "  better: e (Neg): wrong -> right; why",
    ]


def test_targets_are_matched_by_name_without_their_version() -> None:
    own = results(outcome("a", S.RIGHT))
    named = [replace(own, target="x@1.0:all"), replace(own, target="y")]
    found = compare_results(named, [replace(own, target="x:all", version="2"), replace(own, target="z")])
    assert [(one.before, one.after) for one in found] == [("x@1.0:all 1", "x:all 2")]
    with pytest.raises(UsageError, match=r"compare: no target is in both: x@1.0:all, y|compare: no target is in both"):
        compare_results(named, [replace(own, target="z"), replace(own, target="w")])
    with pytest.raises(UsageError, match=r"compare: x:all is there in versions 1 and 2"):
        compare_results([replace(own, target="x:all"), replace(own, target="x@2:all", version="2")], [own])
