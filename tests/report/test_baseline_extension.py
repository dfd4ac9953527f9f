"""A baseline is extended with what a campaign found: what comes in, what is covered, and what is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irfuzz.errors import UsageError
from irfuzz.findings.baseline import BaselineEntry, FindingBaseline, read_baseline
from irfuzz.findings.causes.cause_grouping import Cause
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.command_reports.baseline_extension import BaselineExtension, extend_baseline

pytestmark = pytest.mark.unit

CAUSE = Cause("t", Symptom.CRASH, by="kernel", operators=("Tanh",), nodes=1)


@pytest.fixture
def out(tmp_path: Path) -> Any:
    """Writes a finding's folder into a campaign's, and gives the latter."""

    def write(name: str, kind: str = "findings", **about: Any) -> Path:
        folder = tmp_path / "out" / kind / name
        folder.mkdir(parents=True)
        text = {"symptom": "crash", "target": "t", "title": f"title {name}", "signature": f"crash|t|{name}", **about}
        (folder / "finding.json").write_text(json.dumps(text))
        return tmp_path / "out"

    return write


def titles(file: Path) -> list[str]:
    return [entry.title for entry in read_baseline(file).entries]


def test_a_baseline_is_made_and_then_grows(out: Any, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    out("b")
    first = extend_baseline(out("a"), file)
    assert first == BaselineExtension(file, ("title a", "title b"), 0, 0, 2)
    second = extend_baseline(out("c"), file)
    assert second == BaselineExtension(file, ("title c",), 2, 0, 3)
    assert titles(file) == ["title a", "title b", "title c"]
    assert [p.name for p in tmp_path.iterdir() if p.name != "out"] == ["b.json"]
    assert second.to_json() == {"file": str(file), "added": ["title c"], "covered": 2, "known": 0, "total": 3}
    assert str(second) == f"+ title c\n{file}: 1 added, 2 covered already, 3 in all"


def test_what_a_known_issue_explains_is_left_out_unless_a_person_said_something(out: Any, tmp_path: Path) -> None:
    known = [{"id": "K1"}]
    out("a", known=known)
    out("b", known=known)
    out("c", known=known, label="ours")
    found = extend_baseline(out("d"), tmp_path / "b.json")
    assert (found.added, found.known, found.covered, found.total) == (("title c", "title d"), 2, 0, 2)
    assert str(found).endswith("2 added, 0 covered already, 2 known left out, 2 in all")
    assert [entry.note for entry in read_baseline(tmp_path / "b.json").entries] == ["ours", ""]


@pytest.mark.parametrize(
    ("about", "suspects", "added"),
    [
        ({}, False, 1),
        ({"status": "confirmed"}, False, 1),
        ({"status": "unreplayed"}, False, 0),
        ({"suspect": True}, False, 0),
        ({"suspect": True}, True, 1),
        ({"status": "unreplayed"}, True, 0),
    ],
)
def test_what_is_wanted(out: Any, tmp_path: Path, about: dict[str, Any], suspects: bool, added: int) -> None:
    found = extend_baseline(out("a", **about), tmp_path / "b.json", suspects=suspects)
    assert (len(found.added), found.total) == (added, added)


def test_what_an_entry_stands_for_is_covered_and_gives_its_note(out: Any, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    entries = [
        BaselineEntry("crash|t|a", "A"),
        BaselineEntry("crash|t|b", "B", note="old"),
        BaselineEntry("z", "Z", CAUSE),
    ]
    file.write_text(FindingBaseline().extended(entries).to_text())
    out("a", label="ours")
    out("b", label="new")
    more = replace(CAUSE, nodes=2).to_json()
    found = extend_baseline(out("c", cause=more, label="of the same cause"), file)
    assert (found.added, found.covered, found.total) == ((), 3, 3)
    assert [entry.note for entry in read_baseline(file).entries] == ["ours", "old", ""]


def test_a_suspect_that_is_proven_is_added(out: Any, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(FindingBaseline((BaselineEntry("crash|t|a", "A", suspect=True),)).to_text())
    found = extend_baseline(out("a"), file)
    assert (found.added, found.covered, found.total) == (("title a",), 0, 2)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"signature": ""}, "signature: expected text that is not empty"),
        ({"cause": {"target": "t"}}, "cause: cannot be read: KeyError"),
    ],
)
def test_a_finding_that_cannot_be_an_entry_is_named(out: Any, tmp_path: Path, about: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=rf"finding\.json: {said}"):
        extend_baseline(out("a", **about), tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()


def test_a_file_that_is_no_baseline_or_cannot_be_written(out: Any, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("[]")
    with pytest.raises(UsageError, match="not a baseline"):
        extend_baseline(out("a"), tmp_path / "b.json")
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        extend_baseline(tmp_path / "out", tmp_path / "none" / "b.json")
