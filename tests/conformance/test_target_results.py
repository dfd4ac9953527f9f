"""Counts of results, which cases are in a target's types, and their JSON."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irfuzz.conformance.target_results import (
    CaseOutcome,
    CaseStatus,
    TargetResults,
    document,
    ordered,
    results_in,
)
from irfuzz.errors import UsageError

pytestmark = pytest.mark.unit


def outcome(case: str, status: CaseStatus, *types: str, operator: str = "Neg") -> CaseOutcome:
    return CaseOutcome(case, operator, types or ("FLOAT",), "d", status, "" if status is CaseStatus.RIGHT else "why")


def results(*outcomes: CaseOutcome, of: int = 0, sampled: bool = False) -> TargetResults:
    return TargetResults("t", "1", ordered(outcomes), of or len(outcomes), sampled)


def test_cases_are_counted_by_operator_and_status() -> None:
    one = results(
        outcome("b", CaseStatus.WRONG), outcome("a", CaseStatus.RIGHT), outcome("c", CaseStatus.DIES, operator="Add")
    )
    assert [o.case for o in one.outcomes] == ["a", "b", "c"]
    assert one.counts() == {CaseStatus.RIGHT: 1, CaseStatus.WRONG: 1, CaseStatus.DIES: 1}
    assert list(one.by_operator()) == ["Add", "Neg"]
    assert one.by_operator()["Neg"] == {CaseStatus.RIGHT: 1, CaseStatus.WRONG: 1}


def test_a_target_counts_until_it_refuses_more_than_sixty_in_a_hundred_of_the_cases_in_its_types() -> None:
    ran = [outcome(f"r{k}", CaseStatus.RIGHT) for k in range(4)]
    refused = [outcome(f"n{k}", CaseStatus.REFUSES) for k in range(6)]
    assert results(*ran, *refused).in_types() == (10, 6)
    assert results(*ran, *refused).counts_as_runtime
    assert not results(*ran, *refused, outcome("n", CaseStatus.REFUSES)).counts_as_runtime
    other = [outcome(f"s{k}", CaseStatus.REFUSES, "FLOAT", "STRING") for k in range(9)]
    assert results(*ran, *refused, *other).counts_as_runtime, "a type that it has nowhere is not its own"
    assert not results(*refused).counts_as_runtime


def test_a_part_says_what_it_is() -> None:
    one = outcome("a", CaseStatus.RIGHT)
    assert results(one).coverage_note() == ""
    assert results(one, of=5).coverage_note() == "1 of 5 cases"
    assert results(one, of=5, sampled=True).coverage_note() == "sample, 1 cases"


def test_json_is_read_as_it_was_written() -> None:
    one = results(outcome("a", CaseStatus.UNDECIDED, "FLOAT", "INT64"), of=3, sampled=True)
    assert results_in(document([one], more=1), "x") == [one]
    known = results(replace(outcome("b", CaseStatus.WRONG), known=("041-reference-loop-stacked",)))
    assert results_in(document([known]), "x") == [known]
    assert known.outcomes[0].told() == "why; known: 041-reference-loop-stacked"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"schema": 99, "targets": []}, "x: schema is 99; expected 1"),
        ({"schema": 1, "targets": [{"target": "t"}]}, "x: no results of `irfuzz conform`: KeyError"),
        ({"schema": 1, "targets": 3}, "x: no results of `irfuzz conform`: TypeError"),
    ],
)
def test_what_is_no_result_is_refused(data: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        results_in(data, "x")
    assert str(refused.value).startswith(told)
