"""Lists of findings: what is told of each, what stands together, how all are counted, and what cannot be read."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irfuzz.errors import UsageError
from irfuzz.findings.baseline import BaselineEntry, FindingBaseline
from irfuzz.findings.causes.cause_grouping import Cause
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.command_reports.finding_list import (
    ListedFinding,
    as_text,
    by_cause,
    entries,
    label,
    newest_campaign,
    read,
    suspects,
    suspects_text,
    to_json,
    with_baseline,
)
from irfuzz.report.pages.finding_page import state_of
from irfuzz.store.database import Database, FindingRow
from irfuzz.store.finding_sightings import OWN_TARGETS, SeenFindings, Sightings, read_seen

pytestmark = pytest.mark.unit

CAUSE = Cause("t", Symptom.CRASH, by="kernel", operators=("Tanh",), nodes=1).to_json()
VERDICT = Verdict("o", Symptom.CRASH, "t").to_json()


def entry(name: str, **about: Any) -> ListedFinding:
    return ListedFinding(Path(name), {"symptom": "crash", "target": "t", "title": f"title {name}", **about})


def suspect(name: str, group: str = "", **about: Any) -> ListedFinding:
    return entry(name, suspect=True, group=group, **about)


def test_what_is_told_of_one() -> None:
    one = entry("f", known=[{"id": "K1"}, {"id": "K2"}], label="wontfix", signature="s", status="confirmed")
    assert (one.known, one.label) == (["K1", "K2"], "wontfix")
    assert (entry("f").known, entry("f").label) == ([], "")
    assert one.to_json() == {
        "folder": "f", "title": "title f", "symptom": "crash", "target": "t", "signature": "s", "suspect": "",
        "status": "confirmed", "severity": "", "known": ["K1", "K2"], "label": "wontfix",
        "baseline": None, "others": False, "seen": None,
    }  # fmt: skip
    assert as_text([one]).splitlines() == [
        "f",
        "  title f",
        "  known: K1, K2; label: wontfix",
        "1 findings, 0 of them neither known nor labelled",
        "  1 x K1",
        "  1 x K2",
        "  1 x wontfix",
    ]


def test_findings_suspects_and_unreplayed_ones_are_counted_apart() -> None:
    rows = [
        suspect("s1", "g"), entry("u", status="unreplayed"), entry("f"), suspect("s2"), suspect("s3", "g"),
        entry("l", label="x"),
    ]  # fmt: skip
    assert as_text(rows).splitlines() == [
        "f", "  title f", "l", "  title l", "  label: x",
        "s1", "  title s1", "  and 1 more like it", "s2", "  title s2",
        "u", "  title u",
        "2 findings, 1 of them neither known nor labelled",
        "apart from them: 3 suspects in 2 groups, 1 unreplayed",
        "  1 x x",
    ]  # fmt: skip
    assert as_text([suspect("s1"), suspect("s2")]).splitlines()[-1] == "apart from them: 2 suspects"
    assert (
        as_text([suspect("s1", "g"), suspect("s2", "g")]).splitlines()[-1] == "apart from them: 2 suspects in 1 group"
    )
    assert as_text([suspect("s", status="unreplayed")]).splitlines()[-1] == "apart from them: 1 suspects"
    assert as_text([]) == "0 findings, 0 of them neither known nor labelled"


def test_suspects_stand_in_groups_with_their_doubt() -> None:
    doubt = {"evidence": {"suspect": "no witness"}}
    rows = [suspect("a", "g", verdict=doubt), suspect("b", "g"), suspect("c", "g"), suspect("d", verdict={})]
    assert suspects_text(rows).splitlines() == [
        "a", "  title a", "  severity: high", "  in doubt: no witness", "  and 2 more like it",
        "d", "  title d", "  severity: high", "  in doubt: the evidence is too thin",
        "4 suspects in 2 groups",
    ]  # fmt: skip
    for verdict in (None, [], {"evidence": []}, {"evidence": {}}):
        assert "  in doubt: the evidence is too thin" in suspects_text([suspect("a", verdict=verdict)])


def test_only_suspects_are_ranked() -> None:
    rows = [entry("f"), suspect("a", verdict=VERDICT), suspect("b", verdict=VERDICT), entry("u", status="unreplayed")]
    assert {one.folder.name for one in suspects(rows)} == {"a", "b"}
    broken = ListedFinding(Path("x"), {"suspect": True, "symptom": "no symptom", "target": "t"})
    with pytest.raises(UsageError, match="cannot be read"):
        suspects([broken])
    assert suspects([entry("x", symptom="no symptom")]) == []


def test_the_list_for_programs_names_the_first_of_a_group() -> None:
    rows = [suspect("a", "g"), suspect("b", "g"), entry("f")]
    assert [(one["folder"], one["like"], one["same_cause"]) for one in to_json(rows)] == [
        ("a", "", ""),
        ("b", "a", ""),
        ("f", "", ""),
    ]
    assert to_json(rows)[2] == {**rows[2].to_json(), "same_cause": "", "like": ""}


def test_findings_of_one_cause_stand_behind_the_first() -> None:
    cause = Cause("t", Symptom.CRASH, by="kernel", operators=("Relu",), nodes=1)
    rows = [entry("c", cause=CAUSE), entry("a", cause=cause.to_json()), entry("b", cause=cause.to_json())]
    assert [[one.folder.name for one in row] for row in by_cause(rows)] == [["c"], ["a", "b"]]
    told = as_text(rows).splitlines()
    assert told[2:5] == ["a", "  title a", "  of the same cause: b"]
    assert told[-1] == "3 findings of 2 causes, 3 of them neither known nor labelled"
    assert [one["same_cause"] for one in to_json(rows)] == ["", "", "a"]
    assert as_text(rows[1:]).splitlines()[-1] == "2 findings of 1 cause, 2 of them neither known nor labelled"


def test_a_cause_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match=r"finding\.json: cause: cannot be read"):
        by_cause([entry("a", cause={"no": "cause"})])


def written(folder: Path, **about: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "finding.json").write_text(json.dumps({"symptom": "crash", "target": "t", **about}))
    return folder


def test_paths_name_a_finding_a_folder_of_them_or_a_campaign(tmp_path: Path) -> None:
    second, first = written(tmp_path / "findings" / "2"), written(tmp_path / "findings" / "1")
    doubted, apart = written(tmp_path / "suspects" / "3"), written(tmp_path / "unreplayed" / "4")
    assert [one.folder for one in entries([tmp_path])] == [first, second, doubted, apart]
    assert [one.folder for one in entries([tmp_path / "findings"])] == [first, second]
    assert [one.folder for one in entries([second, tmp_path / "findings"])] == [second, first]
    (tmp_path / "new" / "suspects").mkdir(parents=True)
    assert entries([tmp_path / "new"]) == [], "a campaign that found nothing"
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError, match="no finding there"):
        entries([tmp_path / "other"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object with symptom and target"),
        ('{"target": "t"}', "expected an object with symptom and target"),
        ('{"symptom": "crash"}', "expected an object with symptom and target"),
        ('{"symptom": "crash", "target": "t", "known": {}}', "known: expected a list"),
        ('{"symptom": "crash", "target": "t", "known": [[]]}', "known: expected a list"),
        ('{"symptom": "crash", "target": "t", "known": [{"id": 1}]}', "known: expected a list"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "finding.json").write_text(text)
    with pytest.raises(UsageError, match=told):
        read(tmp_path)
    with pytest.raises(UsageError, match="not the folder of a finding"):
        read(tmp_path / "none")


def test_a_label_is_written_and_nothing_else_changes(tmp_path: Path) -> None:
    folder = written(tmp_path / "f", known=[{"id": "K"}])
    assert label(folder, "mine").label == "mine"
    assert json.loads((folder / "finding.json").read_text()) == {**read(folder).about, "label": "mine"}
    assert read(folder).known == ["K"]
    assert [path.name for path in folder.iterdir()] == ["finding.json"]
    (folder / ".finding.json.part").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        label(folder, "no")


def test_a_campaign_says_how_often_and_when_each_was_seen(tmp_path: Path) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    row = FindingRow("s", "crash", "t", False, "x", "{}", "[]", "{}", b"m", b"", b"", b"", "confirmed", 0, 1)
    assert database.add_finding(row) == 1
    database.close()
    with closing(sqlite3.connect(tmp_path / "campaign.sqlite")) as base:
        base.execute("update finding set first = 0, last = 3660")
        base.commit()
    for name in ("0001-crash", "0002-crash", "crash"):
        (tmp_path / "findings" / name).mkdir(parents=True)
        (tmp_path / "findings" / name / "finding.json").write_text('{"symptom": "crash", "target": "t", "title": "x"}')
    first, *others = entries([tmp_path])
    assert first.to_json()["seen"] == {"times": 1, "first": 0.0, "last": 3660.0}
    assert [other.seen for other in others] == [None, None]
    assert "  seen once, 1970-01-01 00:00 UTC" in as_text([first]).splitlines()
    again = replace(first, seen=Sightings(3, 0, 3660))
    assert "  seen 3 times, 1970-01-01 00:00 to 1970-01-01 01:01 UTC" in as_text([again]).splitlines()


@pytest.mark.parametrize("content", [b"", b"no database", None])
def test_a_list_does_without_a_database_that_cannot_be_read(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "campaign.sqlite").write_bytes(content)
    assert read_seen(tmp_path / "campaign.sqlite") == SeenFindings()


def test_the_newest_campaign_is_that_whose_database_was_written_last(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no campaign in a folder here; expected PATH"):
        newest_campaign(tmp_path)
    for name, time in (("a", 100), ("b", 300), ("c", 200)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "campaign.sqlite").touch()
        os.utime(tmp_path / name / "campaign.sqlite", (time, time))
    assert newest_campaign(tmp_path) == tmp_path / "b"
    log = tmp_path / "a" / "campaign.sqlite-wal"
    log.touch()
    os.utime(log, (3000, 3000))
    assert newest_campaign(tmp_path) == tmp_path / "a", "it runs, and its database is written later"
    assert newest_campaign(tmp_path / "b") == tmp_path / "b", "in the folder itself"


def test_what_the_baseline_has_is_marked_and_counted_as_decided() -> None:
    baseline = FindingBaseline(
        (BaselineEntry("crash|t", "old title", note="upstream"), BaselineEntry("hang|t", "hangs"))
    )
    rows = with_baseline([entry("a", signature="crash|t"), entry("b", signature="new|t")], baseline)
    assert [row.expected for row in rows] == ["upstream", None]
    assert with_baseline([entry("c", signature="hang|t")], baseline)[0].to_json()["baseline"] == "hangs"
    assert as_text(rows).splitlines() == [
        *("a", "  title a", "  in the baseline", "b", "  title b"),
        "2 findings, 1 of them neither known nor labelled nor in the baseline",
    ]
    with pytest.raises(UsageError, match=r"c/finding.json: cause: cannot be read"):
        with_baseline([entry("c", cause={"x": 1})], baseline)


def test_what_blames_only_what_the_campaign_compares_with_is_no_news(tmp_path: Path) -> None:
    def write(name: str, target: str, also: str = "") -> None:
        folder = tmp_path / "findings" / name
        folder.mkdir(parents=True)
        verdict = Verdict("o", Symptom.CRASH, target, also=(also,) if also else ())
        about = {**entry(name).about, "target": target, "verdict": verdict.to_json()}
        (folder / "finding.json").write_text(json.dumps(about))

    write("0001-a", "ort:all")
    write("0002-b", "mine:Converter")
    write("0003-c", "mine:Other", also="mine:Converter")
    assert [row.others for row in entries([tmp_path])] == [False] * 3, "nobody has said what is tested"
    with closing(Database(tmp_path / "campaign.sqlite")) as database:
        more = [f"mine:{'x' * 80}{number}" for number in range(20)]  # long settings are stored compressed
        database.set(OWN_TARGETS, json.dumps(["mine:Converter", *more]))
    rows = entries([tmp_path])
    assert [(row.others, row.news) for row in rows] == [(True, False), (False, True), (False, True)]
    assert [state_of(row)[0] for row in rows] == ["others", "new", "new"], "on the pages, too"
    assert "  severity: high; of another component" in as_text(rows[:1]).splitlines()
    assert as_text(rows).splitlines()[-1] == (
        "3 findings, 2 of them neither known nor labelled nor of another component"
    )
    with closing(Database(tmp_path / "campaign.sqlite")) as database:
        database.set(OWN_TARGETS, "[]")
    assert all(row.news for row in entries([tmp_path])), "all are tested"


def test_what_is_sent_as_a_finding_is_neither_waited_for_nor_too_deep(tmp_path: Path) -> None:
    (tmp_path / "finding.json").write_text("[" * 100_000)
    with pytest.raises(UsageError, match=r"finding.json: not JSON: maximum recursion depth"):
        read(tmp_path)
    (tmp_path / "finding.json").unlink()
    os.mkfifo(tmp_path / "finding.json")
    with pytest.raises(UsageError, match=r"not the folder of a finding: finding.json: not a plain file"):
        read(tmp_path)
