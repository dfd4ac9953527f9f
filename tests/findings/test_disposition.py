"""What is decided of a finding, and which policy it fails."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.findings.baseline import BaselineEntry, FindingBaseline
from irfuzz.findings.disposition import Disposition, FailOn, decided
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, KnownIssue
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

CASE = FailingCase(b"", b"")
NEW = Finding(Verdict("o", Symptom.CRASH, "t:all"), CASE, CASE, signature="crash|t:all|x", title="t:all crashes")
KNOWN = replace(NEW, known=(KnownIssue("001-one"), KnownIssue("002-two")))
SUSPECT = replace(NEW, verdict=replace(NEW.verdict, suspect=True))
BASELINE = FindingBaseline((BaselineEntry("crash|t:all|x", "title", note="ours"),))


def label(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "finding.json").write_text(json.dumps({"label": text}))
    return folder


@pytest.mark.parametrize(
    ("finding", "fails"),
    [
        (NEW, {FailOn.NEW, FailOn.UNDECIDED, FailOn.ANY}),
        (KNOWN, {FailOn.ANY}),
        (SUSPECT, {FailOn.UNDECIDED}),
        (replace(SUSPECT, known=KNOWN.known), set()),
    ],
    ids=["new", "known", "suspect", "known-suspect"],
)
def test_a_policy_fails_on_what_it_says(tmp_path: Path, finding: Finding, fails: set[FailOn]) -> None:
    failing = {policy for policy in FailOn if decided([(finding, tmp_path)], policy)[0].fails}
    assert failing == fails


@pytest.mark.parametrize("finding", [NEW, SUSPECT], ids=["finding", "suspect"])
def test_a_label_or_the_baseline_decides(tmp_path: Path, finding: Finding) -> None:
    labelled, empty = label(tmp_path / "a", "wontfix"), label(tmp_path / "b", "")
    rows = decided([(finding, labelled), (finding, empty), (finding, tmp_path / "none")], FailOn.UNDECIDED)
    assert [(r.disposition, r.reason) for r in rows] == [
        (Disposition.LABELLED, "wontfix"),
        (Disposition.NEW, ""),
        (Disposition.NEW, ""),
    ]
    assert [r.fails for r in rows] == [False, True, True]
    (row,) = decided([(finding, empty)], FailOn.UNDECIDED, BASELINE)
    assert (row.disposition, row.reason, row.fails) == (Disposition.BASELINE, "ours", False)
    assert decided([(finding, empty)], FailOn.ANY, BASELINE)[0].fails is (not finding.verdict.suspect)


def test_a_label_comes_before_a_known_issue_and_that_before_the_baseline(tmp_path: Path) -> None:
    (row,) = decided([(KNOWN, tmp_path)], baseline=BASELINE)
    assert (row.disposition, row.reason) == (Disposition.KNOWN, "001-one, 002-two")
    (row,) = decided([(KNOWN, label(tmp_path / "a", "ours"))], baseline=BASELINE)
    assert row.disposition is Disposition.LABELLED


@pytest.mark.parametrize(
    ("also", "own", "disposition", "fails"),
    [
        ((), (), Disposition.NEW, True),
        ((), ("mine:Own",), Disposition.OTHERS, False),
        (("mine:Own",), ("mine:Own",), Disposition.NEW, True),
        ((), ("mine:Own", "t:all"), Disposition.NEW, True),
    ],
    ids=["nobody-is-named", "of-another", "of-both", "of-one-of-two"],
)
def test_what_blames_another_component_is_no_news_of_the_project(
    tmp_path: Path, also: tuple[str, ...], own: tuple[str, ...], disposition: Disposition, fails: bool
) -> None:
    finding = replace(NEW, verdict=replace(NEW.verdict, also=also))
    (row,) = decided([(finding, tmp_path)], own=own)
    assert (row.disposition, row.fails) == (disposition, fails)
    assert row.reason == ("a fault of t" if disposition is Disposition.OTHERS else "")
    assert decided([(finding, tmp_path)], FailOn.ANY, own=own)[0].fails
    assert decided([(finding, tmp_path)], baseline=BASELINE, own=own)[0].disposition is Disposition.BASELINE
