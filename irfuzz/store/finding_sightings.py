"""Reads how often and when a campaign saw each of its findings, beside whoever is running it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

DATABASE = "campaign.sqlite"
"""The file with a campaign's whole state, in its ``--out`` folder."""


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
    if not database.is_file():
        return {}
    try:
        with (
            readable_database(database) as path,
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base,
        ):
            rows = base.execute("select number, times, first, last from finding").fetchall()
            return {
                int(number): Sightings(int(times), float(first), float(last)) for number, times, first, last in rows
            }
    except (OSError, sqlite3.Error, TypeError, ValueError):
        return {}


def _minute(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
