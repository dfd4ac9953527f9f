"""The page of the scoreboard is made of the results that are kept, and says of each target what they say."""

from __future__ import annotations

import json

import pytest

from benchmarks.scoreboard import DOCUMENT, KEPT, MARK, STATUSES, beside, summary, tables
from irfuzz.conformance.target_results import CaseStatus
from tests.conformance.test_target_results import outcome, results

pytestmark = pytest.mark.unit


def test_the_page_is_what_the_script_makes_of_the_results() -> None:
    rows = json.loads(KEPT.read_text())["targets"]
    assert DOCUMENT.read_text().partition(MARK)[2].strip() == tables(rows).strip()


def test_every_row_adds_up() -> None:
    for row in json.loads(KEPT.read_text())["targets"]:
        by_operator = [sum(counts) for counts in zip(*row["operators"].values(), strict=True)]
        assert by_operator == row["counts"], row["target"]
        faults = sum(row["counts"][STATUSES.index(status)] for status in ("wrong", "dies", "hangs"))
        assert len(row["faults"]) == faults, row["target"]


def test_a_cell_says_what_is_not_right_and_a_fault_is_escaped() -> None:
    one = results(outcome("a_b", CaseStatus.RIGHT), outcome("c", CaseStatus.HANGS), outcome("d", CaseStatus.REFUSES))
    text = tables([summary(one)])
    assert "| Neg | 1/3 1d 1r |" in text
    assert "| `t` | c | Neg | hangs | why |  |" in text
    assert "1 of 1 targets count, on 1 operators." in text


def test_rows_are_added_beside_those_of_other_targets() -> None:
    kept = [{"target": "a", "version": "1"}, {"target": "c", "version": "1"}]
    found = beside([{"target": "b", "version": "2"}, {"target": "a", "version": "2"}], kept)
    assert [(row["target"], row["version"]) for row in found] == [("a", "2"), ("b", "2"), ("c", "1")]
