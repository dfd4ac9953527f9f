"""Reads how often and when a campaign saw each of its findings, and what it tests, beside whoever is running it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

DATABASE = "campaign.sqlite"
"""The file with a campaign's whole state, in its ``--out`` folder."""

OWN_TARGETS = "own targets"
"""Setting with the names of the targets that the project tests (JSON); empty if it tests all."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """When a finding was seen.

    Attributes:
        times: how often.
        first, last: when for the first and the last time, in seconds since 1970.
    """

    times: int
    first: float
    last: float

    def __str__(self) -> str:
        """How often, and when in UTC, to the minute."""
        if self.times == 1:
            return f"seen once, {_minute(self.first)} UTC"
        return f"seen {self.times} times, {_minute(self.first)} to {_minute(self.last)} UTC"


@contextmanager
def readable_database(database: Path) -> Generator[Path]:
    """The file to open to read a campaign's database: SQLite writes beside one that it reads, so that of a folder which
    cannot be written (another user's, or a read-only disk) is copied.

    Args:
        database: of the campaign.

    Yields:
        Its path, or that of the copy, which is gone afterwards.

    Raises:
        OSError: it cannot be read, or there is no room for the copy.
    """
    if os.access(database, os.W_OK) and os.access(database.parent, os.W_OK):
        yield database
        return
    with tempfile.TemporaryDirectory(prefix="irfuzz-read-") as place:
        log = database.with_name(f"{database.name}-wal")
        for source in (database, *([log] if log.is_file() else [])):
            shutil.copyfile(source, Path(place, source.name))
        yield Path(place, database.name)


def read_sightings(database: Path) -> dict[int, Sightings]:
    """By the number of each finding; empty if the database is missing or cannot be read.

    Args:
        database: of a campaign; it is not written.
    """
    try:
        return {
            int(number): Sightings(int(times), float(first), float(last))
            for number, times, first, last in _rows(database, "select number, times, first, last from finding")
        }
    except (TypeError, ValueError):
        return {}


def read_own_targets(database: Path) -> frozenset[str]:
    """Names of the targets that a campaign tests, which others are only compared with; empty if it tests all of them,
    or the database is missing or cannot be read.

    Args:
        database: of a campaign; it is not written.
    """
    rows = _rows(database, "select value from setting where key = ?", OWN_TARGETS)
    try:
        return frozenset(map(str, json.loads(rows[0][0]))) if rows else frozenset()
    except (TypeError, ValueError):
        return frozenset()


def _rows(database: Path, query: str, *values: str) -> Sequence[tuple[Any, ...]]:
    """What a query gives; nothing if there is no database that can be read."""
    if not database.is_file():
        return ()
    try:
        with (
            readable_database(database) as path,
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base,
        ):
            return base.execute(query, values).fetchall()
    except (OSError, sqlite3.Error):
        return ()


def _minute(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
