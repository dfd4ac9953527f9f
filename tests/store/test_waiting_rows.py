"""What waits for triage is stored with how far a job has come, and goes to other jobs if there are fewer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.errors import InternalError, UsageError
from irfuzz.store.database import Database
from irfuzz.store.waiting_rows import JOBS, WaitingRow

pytestmark = pytest.mark.unit


def row(number: int, owner: int = 0, *, suspect: bool = False, again: bool = False) -> WaitingRow:
    return WaitingRow(
        number,
        owner,
        owner,
        7,
        "crash",
        "t",
        suspect,
        "",
        "[]",
        3,
        again,
        0,
        0,
        "{}",
        b"trace",
        b"model",
        b"in",
        b"out",
    )


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "c.sqlite")


def wait(database: Database, *rows: WaitingRow, gone: tuple[int, ...] = ()) -> None:
    for one in rows:
        database.waiting.add(one)
    for number in gone:
        database.waiting.let_go(number)
    database.record(0, 1, 1, {}, [])


def test_cases_are_stored_and_read_by_their_jobs(database: Database) -> None:
    wait(database, row(5, 1), row(2), row(3))
    assert [one.number for one in database.waiting.of(0)] == [2, 3]
    (bare,) = database.waiting.of(1)
    assert bare == replace(row(5, 1), trace=b"", model=b"", inputs=b"", answers=b"")
    assert database.waiting.whole(5) == row(5, 1)
    assert (database.waiting.model(5), database.waiting.model(6)) == (b"model", None)
    wait(database, row(9), gone=(2, 5))
    assert ([one.number for one in database.waiting.of(0)], database.waiting.of(1)) == ([3, 9], [])
    with pytest.raises(InternalError, match="no case 5 waits"):
        database.waiting.whole(5)


def test_cases_and_progress_are_stored_both_or_neither(database: Database) -> None:
    wait(database, row(2))
    database.waiting.add(row(3))
    database.waiting.add(row(2))
    with pytest.raises(UsageError, match="UNIQUE"):
        database.record(0, 9, 9, {}, [])
    assert ([one.number for one in database.waiting.of(0)], database.tally(0)[0]) == ([2], 1)


def test_numbers_of_jobs_never_meet(database: Database) -> None:
    assert [database.waiting.first_number(job) for job in (0, 1)] == [JOBS, JOBS + 1]
    wait(database, replace(row(JOBS + 1), owner=0, job=1))
    assert [database.waiting.first_number(job) for job in (0, 1)] == [JOBS, 2 * JOBS + 1]


def test_what_known_faults_explain_and_suspects_are_not_counted(database: Database) -> None:
    wait(database, row(1), row(2, 3), row(3, suspect=True), row(4, again=True))
    assert database.waiting.count() == 2


def test_what_was_learnt_of_a_case_is_kept(database: Database) -> None:
    wait(database, row(1), row(2))
    database.waiting.change(1, again=True, doubted=8)
    database.waiting.strike(1)
    database.waiting.strike(1)
    database.waiting.strike(7)
    assert database.waiting.whole(1) == replace(row(1), again=True, doubted=8, strikes=2)
    assert database.waiting.whole(2) == row(2)
    database.waiting.forget(1)
    database.waiting.forget(1)
    assert [one.number for one in database.waiting.of(0)] == [2]


@pytest.mark.parametrize(("jobs", "owners"), [(1, [0, 0, 0]), (2, [0, 1, 0]), (3, [0, 1, 2])])
def test_jobs_that_there_are_no_more_leave_their_cases_to_others(
    database: Database, jobs: int, owners: list[int]
) -> None:
    wait(database, *(row(number, number) for number in range(3)))
    database.waiting.share_out(jobs)
    assert [database.waiting.whole(number).owner for number in range(3)] == owners


def test_a_folder_of_before_gets_a_queue(tmp_path: Path) -> None:
    Database(tmp_path / "c.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as base:
        base.execute("drop table waiting")
    database = Database(tmp_path / "c.sqlite")
    wait(database, row(1))
    assert database.waiting.count() == 1


def test_what_is_not_of_its_type_is_told(database: Database) -> None:
    wait(database, row(1))
    with closing(sqlite3.connect(database.path)) as base:
        base.execute("update waiting set size = 'x'")
        base.commit()
    with pytest.raises(UsageError, match="WaitingRow: size: expected int, got str 'x'"):
        database.waiting.of(0)
