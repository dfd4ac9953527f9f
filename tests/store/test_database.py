"""The database keeps what it was given through concurrent writers and kill -9, and refuses foreign files."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.errors import InternalError, UsageError
from irfuzz.store.database import Database, FindingRow, ProgramRow, Status


def program(digest: str, parent: str = "") -> ProgramRow:
    return ProgramRow(digest, b"model", "a.onnx", parent, "{}", 1, 0, 0)


def finding(signature: str, *, suspect: bool = False, status: str = Status.CONFIRMED) -> FindingRow:
    return FindingRow(signature, "crash", "t", suspect, "title", "{}", "[]", "{}", b"m", b"i", b"m", b"i", status, 0, 1)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "c.sqlite")


def test_a_program_is_stored_once(database: Database) -> None:
    assert database.add_program(program("d1"))
    assert not database.add_program(program("d1"))
    assert database.add_program(program("d2", "d1"))
    numbers = [number for number, _ in database.programs_after(0)]
    assert [row.digest for _, row in database.programs_after(numbers[0])] == ["d2"]
    assert [row.digest for _, row in database.programs_after(0, most=1)] == ["d1"]
    assert database.program("d2").parent == "d1"
    with pytest.raises(InternalError, match="no program has digest d3"):
        database.program("d3")
    assert database.corpus_size() == 2


def test_programs_and_how_far_a_job_has_come_are_stored_together(database: Database) -> None:
    assert database.record(1, 5, 4, {"runs": 8, "corpus": 3}, [program("d1"), program("d2", "d1")]) == 2
    assert database.tally(1) == (5, 4, {"runs": 8, "corpus": 5})
    assert database.record(1, 6, 5, {"corpus": 5}, [program("d2"), program("d3")]) == 1
    assert database.tally(1) == (6, 5, {"corpus": 6})
    assert database.record(1, 7, 6, {"corpus": 6}, []) == 0
    assert database.tally(1) == (7, 6, {"corpus": 6})
    assert [row.digest for _, row in database.programs_after(0)] == ["d1", "d2", "d3"]


def test_a_signature_is_stored_once_and_counted(database: Database) -> None:
    assert database.add_finding(finding("s")) is not None
    assert database.add_finding(finding("s")) is None
    assert database.count_again("s")
    assert not database.count_again("other")
    (row,) = database.findings()
    assert row.times == 3
    assert row.signature == "s"


def test_counts_keep_suspects_and_unreplayed_apart(database: Database) -> None:
    database.add_finding(finding("a"))
    database.add_finding(finding("b", suspect=True, status=Status.UNREPLAYED))
    database.add_finding(finding("c", status=Status.UNREPLAYED))
    counts = database.finding_counts()
    assert (counts["findings"], counts["suspects"], counts["unreplayed"]) == (1, 1, 1)
    assert counts["last"] > 0


def test_a_suspect_becomes_a_finding_under_its_number(database: Database) -> None:
    database.add_finding(finding("other"))
    number = database.add_finding(finding("suspect|a", suspect=True, status=Status.UNREPLAYED))
    assert number == 2
    before = database.finding(number)
    assert database.promote(replace(finding("a"), number=number, model=b"small", job=3))
    row = database.finding(number)
    assert (row.signature, row.suspect, row.status, row.model, row.job) == ("a", False, "confirmed", b"small", 3)
    assert row.first > before.first
    counts = database.finding_counts()
    assert (counts["findings"], counts["suspects"], len(database.findings())) == (2, 0, 2)


def test_what_is_proven_or_explained_is_open_no_more(database: Database) -> None:
    for name, suspect in (("a", True), ("b", False)):
        number = database.add_finding(finding(f"x|{name}", suspect=suspect, status=Status.UNREPLAYED))
        assert number is not None
        assert [database.is_open(number, suspect=suspect), database.is_open(number, suspect=not suspect)] == [
            True,
            False,
        ]
        assert database.promote(replace(finding(name), number=number))
        assert not database.is_open(number, suspect=suspect)
    assert not database.is_open(9, suspect=False)


def test_a_finding_explains_what_waits_for_a_proof_but_not_itself(database: Database) -> None:
    database.add_finding(finding("a", status=Status.UNREPLAYED))
    number = database.add_finding(finding("unfinished|a", status=Status.UNREPLAYED))
    assert database.count_again("a", explains=1)
    assert database.finding(1).status == "unreplayed"
    assert database.count_again("a", explains=number or 0)
    assert [row.status for row in database.findings()] == ["unreplayed", "explained"]
    assert database.finding_counts()["unreplayed"] == 1


def test_a_suspect_that_is_a_known_finding_is_explained_by_it(database: Database) -> None:
    database.add_finding(finding("a"))
    rows = [database.add_finding(finding(f"suspect|{n}", suspect=True, status=Status.UNREPLAYED)) for n in range(4)]
    assert not database.promote(replace(finding("a"), number=rows[0]))
    assert database.count_again("a", explains=rows[1])
    assert not database.count_again("b", explains=rows[2]), "what is not there explains nothing"
    database.replace_finding(replace(finding("a"), number=1, model=b"small"), explains=rows[3])
    stored = {row.number: row for row in database.findings()}
    assert [(n, r.status, r.suspect) for n, r in stored.items() if n > 1] == [
        (2, "explained", True), (3, "explained", True), (4, "unreplayed", True), (5, "explained", True),
    ]  # fmt: skip
    assert (stored[1].times, stored[1].model, stored[2].signature) == (4, b"small", "suspect|0")
    counts = database.finding_counts()
    assert (counts["findings"], counts["suspects"], counts["unreplayed"]) == (1, 1, 0)


def test_tallies_and_settings_come_back(database: Database) -> None:
    assert database.tally(1) == (0, 0, {})
    database.record(1, 7, 6, {"runs": 12}, [])
    database.record(1, 8, 7, {"runs": 14}, [])
    assert database.tally(1) == (8, 7, {"runs": 14})
    database.set("k", "v")
    database.set("k", "w")
    assert database.settings()["k"] == "w"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(UsageError, match="cannot be used"):
        Database(path)


def test_another_schema_version_is_refused(database: Database) -> None:
    database.set("schema", "999")
    with pytest.raises(UsageError, match="expected database schema 1, got 999"):
        Database(database.path)


WRITER = """
import sys
from pathlib import Path
from irfuzz.store.database import Database, ProgramRow
database = Database(Path(sys.argv[1]))
for i in range(10**6):
    database.add_program(ProgramRow(f"{sys.argv[2]}-{i}", b"model", "a.onnx", "", "{}", 1, 0, 0))
    database.record(int(sys.argv[2]), i + 1, i + 1, {}, [])
    print(i, flush=True)
"""


def test_nothing_that_was_stored_is_lost_to_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    Database(path).close()
    writers = [
        subprocess.Popen([sys.executable, "-P", "-c", WRITER, str(path), str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(2)
    ]
    promised = []
    for writer in writers:
        assert writer.stdout is not None
        while int(writer.stdout.readline()) < 30:
            pass
    time.sleep(0.05)
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
    for writer in writers:
        assert writer.stdout is not None
        lines = writer.stdout.read().split()
        writer.wait()
        promised.append(int(lines[-1]) if lines else 30)
    database = Database(path)
    stored = {row.digest for _, row in database.programs_after(0, most=10**6)}
    for number, last in enumerate(promised):
        assert {f"{number}-{i}" for i in range(last + 1)} <= stored
        assert database.tally(number)[0] >= last + 1


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("update tally set counts = '['", "tally: counts: expected a JSON object of whole numbers, got '['"),
        ("update tally set counts = '[1]'", "tally: counts: expected a JSON object"),
        ('update tally set counts = \'{"a": "b"}\'', "tally: counts: expected a JSON object"),
        ("update tally set counts = x'00'", "tally: counts: expected a JSON object"),
        ("update tally set iteration = 'x'", "tally: expected whole numbers"),
        ("update program set trace = x'0001'", "ProgramRow: trace: expected str, got bytes"),
        ("update program set model = 'text'", "ProgramRow: model: expected bytes, got str 'text'"),
        ("update program set features = 1.5", "ProgramRow: features: expected int, got float '1.5'"),
        ("update finding set verdict = x'ff'", "FindingRow: verdict: expected str, got bytes"),
        ("update finding set first = 'soon'", "FindingRow: first: expected float, got str 'soon'"),
        ("drop table finding", "no such table: finding"),
    ],
)
def test_a_value_that_is_not_what_was_stored_is_named(database: Database, statement: str, told: str) -> None:
    database.record(0, 1, 1, {"runs": 2}, [program("d1")])
    database.add_finding(finding("s"))
    database.close()
    with closing(sqlite3.connect(database.path)) as base:
        base.execute(statement)
        base.commit()

    def read() -> None:
        database.tallies()
        database.tally(0)
        database.programs_after(0)
        database.findings()

    with pytest.raises(UsageError, match=re.escape(told)) as caught:
        read()
    assert str(database.path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_with_spoilt_pages_is_one_line(database: Database) -> None:
    for number in range(200):
        database.add_program(program(f"d{number}"))
    database.close()
    with closing(sqlite3.connect(database.path)) as base:
        base.execute("pragma wal_checkpoint(truncate)")
    data = bytearray(database.path.read_bytes())
    data[4096 * 6 :] = b"\xff" * (len(data) - 4096 * 6)  # the first pages hold the tables' names
    database.path.write_bytes(data)
    with pytest.raises(UsageError, match="the database is damaged: database disk image is malformed"):
        database.programs_after(0)
