"""A damaged campaign becomes a new folder with every row that can be read; the old one stays as it is."""

from __future__ import annotations

import fcntl
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from irfuzz.campaign.config import Layout
from irfuzz.campaign.stored_findings.campaign_recovery import recover_campaign
from irfuzz.errors import UsageError
from irfuzz.store import database_recovery
from irfuzz.store.database import Database, FindingRow, ProgramRow, Status

pytestmark = pytest.mark.unit

PAGE = 4096
PROGRAMS = 400


def program(number: int) -> ProgramRow:
    return ProgramRow(f"d{number}", bytes([number % 251]) * 900, "a.onnx", "", "{}", 1, 0, number)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign with many programs and two findings, one of them with a folder."""
    out = tmp_path / "out"
    layout = Layout(out)
    layout.findings.mkdir(parents=True)
    (layout.findings / "0001-crash").mkdir()
    (layout.findings / "0001-crash" / "finding.json").write_text("{}")
    database = Database(layout.database)
    database.set("seed", "7")
    database.record(0, PROGRAMS, PROGRAMS, {"runs": 9}, [program(n) for n in range(PROGRAMS)])
    for signature in ("s1", "s2"):
        database.add_finding(
            FindingRow(
                signature, "crash", "t", False, "x", "{}", "[]", "{}", b"m", b"", b"", b"", Status.CONFIRMED, 0, 1
            )
        )
    database.close()
    with closing(sqlite3.connect(layout.database)) as base:
        base.execute("pragma wal_checkpoint(truncate)")
    return out


def rows(out: Path) -> dict[str, ProgramRow]:
    database = Database(Layout(out).database)
    try:
        return {row.digest: row for _, row in database.programs_after(0, most=PROGRAMS)}
    finally:
        database.close()


def spoil(out: Path, statement: str) -> None:
    with closing(sqlite3.connect(Layout(out).database)) as base:
        base.execute(statement)
        base.commit()


def test_a_whole_campaign_is_copied_row_by_row(campaign: Path, tmp_path: Path) -> None:
    found = recover_campaign(campaign, tmp_path / "new")
    kept = {table.table: (table.kept, table.lost) for table in found.tables}
    assert kept == {
        "program": (PROGRAMS, 0),
        "finding": (2, 0),
        "setting": (2, 0),
        "tally": (1, 0),
        "entry": (0, 0),
        "leaving": (0, 0),
        "waiting": (0, 0),
        "taken": (0, 0),
        "fault_mark": (0, 0),
    }
    assert rows(tmp_path / "new") == rows(campaign)
    assert (tmp_path / "new" / "findings" / "0001-crash" / "finding.json").is_file()
    database = Database(Layout(tmp_path / "new").database)
    assert database.tally(0) == (PROGRAMS, PROGRAMS, {"runs": 9, "corpus": PROGRAMS})
    assert database.settings()["seed"] == "7"
    assert [row.signature for row in database.findings()] == ["s1", "s2"]
    assert database.add_finding(database.findings()[0]) is None
    database.close()


@pytest.mark.parametrize("each", [database_recovery.EACH, 1])
def test_what_spoilt_pages_held_is_lost_and_nothing_else(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each: int
) -> None:
    """Also if the steps over numbers grow from the second one on: they come back to the first row behind the page."""
    monkeypatch.setattr(database_recovery, "EACH", each)
    whole = rows(campaign)
    path = Layout(campaign).database
    data = bytearray(path.read_bytes())
    middle = next(at for at in range(0, len(data), PAGE) if bytes([120]) * 900 in data[at : at + PAGE])
    data[middle : middle + PAGE] = b"\xff" * PAGE
    path.write_bytes(data)
    with pytest.raises(UsageError, match="damaged"):
        rows(campaign)
    found = next(t for t in recover_campaign(campaign, tmp_path / "new").tables if t.table == "program")
    again = rows(tmp_path / "new")
    assert PROGRAMS - 10 < found.kept == len(again) < PROGRAMS
    assert found.kept + found.lost == PROGRAMS
    assert "malformed" in found.why
    assert all(whole[digest] == row for digest, row in again.items())
    assert path.read_bytes() == data


def test_a_table_without_its_root_is_given_up_and_the_others_are_kept(campaign: Path, tmp_path: Path) -> None:
    path = Layout(campaign).database
    with closing(sqlite3.connect(path)) as base:
        (root,) = base.execute("select rootpage from sqlite_master where name = 'program'").fetchone()
    data = bytearray(path.read_bytes())
    data[(root - 1) * PAGE : root * PAGE] = b"\xff" * PAGE
    path.write_bytes(data)
    found = {t.table: t for t in recover_campaign(campaign, tmp_path / "new").tables}
    assert (found["program"].kept, found["program"].lost) == (0, database_recovery.MOST_ROWS + 1)
    assert (found["finding"].kept, found["finding"].lost) == (2, 0)


@pytest.mark.parametrize(
    ("statement", "table", "why"),
    [
        ("update program set model = 'text' where digest = 'd3'", "program", "model: got str 'text'"),
        ("update program set trace = '[' where digest = 'd3'", "program", "trace: got str '['"),
        ("update finding set suspect = 7 where signature = 's1'", "finding", "suspect: got int '7'"),
        ("update finding set first = 'soon' where signature = 's1'", "finding", "first: got str 'soon'"),
        ("update tally set counts = 'x'", "tally", "counts: got str 'x'"),
        ("drop table tally", "tally", "no such table: tally"),
    ],
)
def test_a_row_that_holds_something_else_is_lost_with_the_reason(
    campaign: Path, tmp_path: Path, statement: str, table: str, why: str
) -> None:
    spoil(campaign, statement)
    recovery = recover_campaign(campaign, tmp_path / "new")
    found = {t.table: t for t in recovery.tables}
    assert found[table].why == why
    assert {name for name, t in found.items() if t.lost} == {table}
    assert f"{table}: {found[table].kept} kept, 1 lost ({why})" in str(recovery)


def test_an_older_schema_becomes_the_present_one(campaign: Path, tmp_path: Path) -> None:
    spoil(campaign, "update setting set value = '99' where key = 'schema'")
    recover_campaign(campaign, tmp_path / "new")
    assert len(rows(tmp_path / "new")) == PROGRAMS


def test_what_cannot_be_recovered_is_refused(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("kept")
    with pytest.raises(UsageError, match="expected a new or empty folder"):
        recover_campaign(campaign, tmp_path / "full")
    with pytest.raises(UsageError, match="expected a campaign's folder"):
        recover_campaign(tmp_path / "full", tmp_path / "new")
    with Layout(campaign).lock().open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another irfuzz process is using this folder"):
            recover_campaign(campaign, tmp_path / "new")
    Layout(campaign).database.write_bytes(b"no database" * 500)
    with pytest.raises(UsageError, match=re.escape("nothing of it can be read: file is not a database")):
        recover_campaign(campaign, tmp_path / "new")
    assert (tmp_path / "full" / "mine").read_text() == "kept"
