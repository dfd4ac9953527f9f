"""Programs are known without being read, and leave once no job can be using them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.errors import InternalError, UsageError
from irfuzz.store.corpus_index import IndexRow
from irfuzz.store.database import Database, ProgramRow

pytestmark = pytest.mark.unit


def program(number: int, parent: str = "p") -> ProgramRow:
    return ProgramRow(f"d{number}", b"model", "a.onnx", parent, "{}", 1, 0, number)


def known(number: int) -> ProgramRow:
    return replace(program(number), features=2, nodes=3, cost=4, keys=bytes(16))


def entry(number: int) -> IndexRow:
    return IndexRow(number, f"d{number}", "a.onnx", original=False, features=2, nodes=3, cost=4, keys=bytes(16))


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """With three programs that are known."""
    database = Database(tmp_path / "c.sqlite")
    assert database.record(0, 1, 1, {}, [known(n) for n in (1, 2, 3)]) == 3
    return database


def there(database: Database) -> list[int]:
    return [int(row.digest[1:]) for _, row in database.programs_after(0)]


def test_programs_and_what_is_known_of_them_come_together(database: Database) -> None:
    assert database.index.after(0) == [entry(1), entry(2), entry(3)]
    assert database.index.after(2) == [entry(3)]
    assert database.index.unknown() == []
    assert database.record(0, 2, 2, {}, [replace(known(1), cost=9)]) == 0
    assert database.index.after(0)[0] == entry(1)


def test_what_nobody_has_read_is_named(database: Database) -> None:
    database.add_program(program(4, ""))
    assert database.index.unknown() == [4]
    assert database.numbered(4).digest == "d4"
    seed = replace(entry(4), original=True)
    database.index.add([seed])
    database.index.add([replace(seed, cost=9)])
    assert database.index.after(3) == [seed]
    assert database.index.unknown() == []


def test_one_job_lets_programs_go_at_once(database: Database) -> None:
    assert database.index.leave([1], 0, 1) == [1]
    assert there(database) == [2, 3]
    assert database.index.after(0) == [entry(2), entry(3)]
    assert database.corpus_size() == 2
    with pytest.raises(InternalError):
        database.program("d1")


def test_a_row_stays_until_every_job_has_asked(database: Database) -> None:
    assert database.index.leave([1, 2], 0, 2) == [1, 2]
    assert there(database) == [1, 2, 3], "the other job may be mutating one"
    assert database.index.after(0) == [entry(3)]
    assert database.corpus_size() == 1
    assert database.index.leave([], 1, 2) == [1, 2]
    assert there(database) == [3]
    database.record(0, 3, 3, {}, [known(4)])
    database.index.leave([3], 1, 2)
    assert there(database) == [3, 4]
    database.index.leave([], 0, 2)
    assert there(database) == [4]


def test_no_number_is_given_twice(database: Database) -> None:
    database.index.leave([2, 3], 0, 1)
    assert there(database) == [1, 3], "the newest keeps its row"
    assert database.index.after(0) == [entry(1)]
    database.add_program(program(4))
    assert [number for number, _ in database.programs_after(0)] == [1, 3, 4]
    database.index.leave([], 0, 1)
    assert there(database) == [1, 4]


def test_what_leaves_is_removed_before_jobs_start(database: Database) -> None:
    database.index.leave([1], 0, 2)
    database.index.sweep()
    assert there(database) == [2, 3]
    assert not any(key.startswith("corpus turn") for key in database.settings())


@pytest.mark.parametrize("change", ["cost = 'x'", "keys = x'00'", "digest = x'05'", "nodes = 1.5"])
def test_a_damaged_row_is_named(database: Database, change: str) -> None:
    with closing(sqlite3.connect(database.path)) as base:
        base.execute(f"update entry set {change} where number = 2")
        base.commit()
    with pytest.raises(UsageError, match="damaged"):
        database.index.after(0)


def test_a_folder_of_before_has_no_index(database: Database) -> None:
    with closing(sqlite3.connect(database.path)) as base:
        base.execute("drop table entry")
        base.execute("drop table leaving")
        base.commit()
    assert Database(database.path).index.unknown() == [1, 2, 3]
