"""What other agents made is told apart from a campaign's own, and taken in with how far theirs was looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.errors import UsageError
from irfuzz.store.corpus_index import IndexRow
from irfuzz.store.database import Database, ProgramRow
from irfuzz.store.taken_programs import (
    TakenProgram,
    TakenRecord,
    own_count,
    own_programs,
    take_in,
    taken_after,
    vectors_of,
)

pytestmark = pytest.mark.unit


def row(name: str, parent: str = "s") -> ProgramRow:
    return ProgramRow(name, b"model", "s.onnx", parent, "{}", 1, 0, 3, nodes=2, cost=5, keys=bytes(8))


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "c.sqlite")


def test_own_programs_and_taken_ones_are_told_apart(database: Database) -> None:
    database.record(0, 7, 7, {}, [row("own1")])
    assert take_in(database, [TakenProgram("a", 4, row("theirs")), TakenProgram("a", 5, row("own1"))], {"a": 5}) == 1
    database.record(0, 8, 8, {}, [row("own2")])
    assert [(number, r.digest) for number, r in own_programs(database, 0)] == [(1, "own1"), (3, "own2")]
    assert own_programs(database, 1) == [(3, row("own2"))]
    assert own_programs(database, 0, 1) == [(1, row("own1"))]
    assert (own_count(database, 0), own_count(database, 1), own_count(database, 3)) == (2, 1, 0)
    assert taken_after(database, 0) == [TakenRecord(2, "a", 4, {"0": 7})]
    assert taken_after(database, 2) == []
    assert vectors_of(database) == {"a": 5}
    assert [entry.digest for entry in database.index.after(0)] == ["own1", "theirs", "own2"]


def test_it_is_taken_in_as_a_whole_or_not(database: Database) -> None:
    broken = replace(row("second"), model=None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError):
        take_in(database, [TakenProgram("a", 1, row("first")), TakenProgram("a", 2, broken)], {"a": 2})
    assert database.corpus_size() == 0
    assert vectors_of(database) == {}


def test_own_programs_wait_for_a_seed_that_no_job_has_read(database: Database) -> None:
    database.add_program(replace(row("seed", ""), cost=0))
    database.record(0, 1, 1, {}, [row("mutant")])
    assert own_programs(database, 0) == []
    assert own_count(database, 0) == 0
    database.index.add([IndexRow(1, "seed", "s.onnx", original=True, features=1, nodes=1, cost=1, keys=b"")])
    assert own_count(database, 0) == 2
    assert [r.digest for _, r in own_programs(database, 0)] == ["seed", "mutant"]
    database.add_program(replace(row("late", ""), cost=0))
    assert own_count(database, 0) == 2


def test_a_seed_that_comes_is_for_a_job_to_read(database: Database) -> None:
    take_in(database, [TakenProgram("seeds", 1, replace(row("seed", ""), cost=0))], {"seeds": 1})
    assert database.index.unknown() == [1]
    assert own_programs(database, 0) == []
