"""What can still be read of a damaged campaign database, row by row, in a new one."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, Table, delete, select
from sqlalchemy.dialects.sqlite import insert

from irfuzz.errors import UsageError
from irfuzz.isolate.scratch_folder import ScratchFolder
from irfuzz.store.database import Database
from irfuzz.store.database_schema import (
    ELSEWHERE,
    ENTRY,
    FAULT_MARK,
    FINDING,
    LEAVING,
    METADATA,
    PROGRAM,
    SCHEMA,
    SETTING,
    TAKEN,
    TALLY,
    WAITING,
    CompressedText,
)

JSON = {
    *(TALLY.c.counts, FINDING.c.verdict, FINDING.c.runs, FINDING.c.trace, PROGRAM.c.trace),
    *(WAITING.c.about, WAITING.c.operators),
}

MOST_ROWS = 1_000_000
"""Numbers that are tried in a table that does not say its last one."""

EACH = 2000
"""Numbers that are tried one by one behind one that cannot be read, before the steps grow."""

BATCH = 200


@dataclass(frozen=True, slots=True)
class RecoveredRows:
    """How much of a table was recovered.

    Attributes:
        table: its name.
        kept: rows that are in the new database.
        lost: rows that could not be read, or hold what their columns do not say; of pages that cannot be read each
            number counts that a row may have had.
        why: of the first that was lost; empty if none was.
    """

    table: str
    kept: int
    lost: int
    why: str


def recover_database(damaged: Path, new: Path) -> list[RecoveredRows]:
    """Write every row that can be read into a new database.

    Args:
        damaged: the database; it is only read, and nobody else may be writing it.
        new: of the new one; there must be none.

    Returns:
        One entry for each table.

    Raises:
        UsageError: ``damaged`` cannot be read at all, or ``new`` exists or cannot be written.
    """
    if new.exists():
        raise UsageError(f"{new}: expected no file, got one; choose another place")
    with ScratchFolder("recovery") as scratch:
        copy = scratch.path / damaged.name
        try:
            for suffix in ("", "-wal"):  # what was written last may stand in the log alone
                if Path(f"{damaged}{suffix}").exists() or not suffix:
                    shutil.copyfile(f"{damaged}{suffix}", f"{copy}{suffix}")
        except OSError as error:
            raise UsageError(f"{damaged}: cannot be read: {error.strerror}") from None
        with closing(sqlite3.connect(copy)) as base:
            try:
                there = {name for (name,) in base.execute("select name from sqlite_master where type = 'table'")}
            except sqlite3.DatabaseError as error:
                raise UsageError(f"{damaged}: nothing of it can be read: {error}") from None
            target = Database(new)
            try:
                # Campaigns of before have no index of the corpus, no queue, marks and fleet, and lack nothing.
                newer = (ENTRY, LEAVING, WAITING, TAKEN, FAULT_MARK)
                # What other agents of a fleet have found is with them, and no agent goes on in the new folder.
                wanted = [t for t in METADATA.sorted_tables if t is not ELSEWHERE]
                tables = [t for t in wanted if t not in newer or t.name in there]
                found = [_recover(base, target, table) for table in tables]
                with target.transaction() as connection:  # of programs that are lost nobody is to know
                    kept = select(PROGRAM.c.number)
                    connection.execute(delete(ENTRY).where(ENTRY.c.number.not_in(kept)))
                target.marks.forget_others()
                target.marks.sweep()
                return found
            finally:
                target.close()


def _recover(base: sqlite3.Connection, target: Database, table: Table) -> RecoveredRows:
    kept, lost, why = 0, 0, ""
    batch: list[dict[str, Any]] = []
    for row, reason, count in _rows(base, table):
        if row is None:
            lost, why = lost + count, why or reason
            continue
        if table is SETTING and row["key"] == "schema":
            row["value"] = str(SCHEMA)
        batch.append(row)
        if len(batch) == BATCH:
            kept += _store(target, table, batch)
            batch = []
    return RecoveredRows(table.name, kept + _store(target, table, batch), lost, why)


def _rows(base: sqlite3.Connection, table: Table) -> Iterator[tuple[dict[str, Any] | None, str, int]]:
    """Each row by its number, or ``None``, why and how many for those that are lost."""
    names = [column.name for column in table.columns]
    query = f"select rowid, {', '.join(names)} from {table.name} where rowid > ? order by rowid limit 1"  # noqa: S608
    number, last = -1, _last(base, table)  # the first job has number 0
    while number < last:
        try:
            found = base.execute(query, (number,)).fetchone()
        except sqlite3.DatabaseError as error:
            if "no such" in str(error):
                yield None, str(error), 1
                return
            readable = _readable_behind(base, query, number, last)
            yield None, str(error), readable - number
            number = readable
            continue
        if found is None:
            return
        number, *stored = found
        values = [_read(c, v) for c, v in zip(table.columns, stored, strict=True)]
        wrong = next((w for c, v in zip(table.columns, values, strict=True) if (w := _wrong(c, v))), "")
        yield (None, wrong, 1) if wrong else (dict(zip(names, values, strict=True)), "", 0)


def _readable_behind(base: sqlite3.Connection, query: str, number: int, last: int) -> int:
    """The number behind which the next row can be read again; ``last`` if there is none.

    A page has less than ``EACH`` rows, so that far each number is tried. Behind that steps double, and then halve
    again, so that a table whose root is lost takes thousands of tries and not a million.
    """
    tried, step = 0, 1
    while number < last:
        further = min(number + step, last)
        if _can_be_read(base, query, further):
            while further - number > 1:
                middle = (number + further) // 2
                if _can_be_read(base, query, middle):
                    further = middle
                else:
                    number = middle
            return further
        number, tried = further, tried + 1
        step *= 1 if tried < EACH else 2
    return last


def _can_be_read(base: sqlite3.Connection, query: str, number: int) -> bool:
    try:
        base.execute(query, (number,)).fetchone()
    except sqlite3.DatabaseError:
        return False
    return True


def _read(column: Column[Any], value: Any) -> Any:
    """A value as the new database takes it."""
    return column.type.process_result_value(value, None) if isinstance(column.type, CompressedText) else value


def _last(base: sqlite3.Connection, table: Table) -> int:
    try:
        return base.execute(f"select max(rowid) from {table.name}").fetchone()[0] or 0  # noqa: S608 - a name of ours
    except sqlite3.DatabaseError:
        return MOST_ROWS


def _wrong(column: Column[Any], value: object) -> str:
    """Why a value does not belong into a column; empty if it does."""
    match column.type:
        case Boolean():
            fine = value in (0, 1)
        case Integer():
            fine = isinstance(value, int)
        case Float():
            fine = isinstance(value, int | float)
        case LargeBinary():
            fine = isinstance(value, bytes)
        case _:
            fine = isinstance(value, str)
    if fine and column in JSON:
        try:
            json.loads(str(value))
        except (ValueError, RecursionError):
            fine = False
    return "" if fine else f"{column.name}: got {type(value).__name__} {str(value)[:40]!r}"


def _store(target: Database, table: Table, rows: Sequence[dict[str, Any]]) -> int:
    """Add rows; how many were new."""
    if not rows:
        return 0
    statement = insert(table).values(list(rows)).on_conflict_do_nothing()
    if table is SETTING:  # a new database says its schema
        statement = insert(table).values(list(rows))
        statement = statement.on_conflict_do_update(index_elements=["key"], set_={"value": statement.excluded.value})
    with target.transaction() as connection:
        return connection.execute(statement).rowcount
