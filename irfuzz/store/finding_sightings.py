"""Reads how often and when a campaign saw each of its findings, and what it tests, beside whoever is running it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from irfuzz.store.bounded_decompression import TEXT, decompressed

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


@dataclass(frozen=True, slots=True)
class SeenFindings:
    """What a campaign's database says of its findings as a whole.

    Attributes:
        sightings: by the number of each.
        own: names of the targets that the project tests, which others are only compared with; empty if it tests all.
    """

    sightings: Mapping[int, Sightings] = field(default_factory=dict)
    own: frozenset[str] = frozenset()


def read_seen(database: Path) -> SeenFindings:
    """When each finding was seen, and what is tested; nothing if the database is missing or cannot be read.

    Args:
        database: of a campaign; it is not written.
    """
    if not database.is_file():
        return SeenFindings()
    try:
        with (
            readable_database(database) as path,
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base,
        ):
            rows = base.execute("select number, times, first, last from finding").fetchall()
            told = base.execute("select value from setting where key = ?", (OWN_TARGETS,)).fetchone()
        seen = {int(number): Sightings(int(times), float(first), float(last)) for number, times, first, last in rows}
        return SeenFindings(seen, _names(told[0]) if told else frozenset())
    except (OSError, sqlite3.Error, zlib.error, TypeError, ValueError):
        return SeenFindings()


def _names(text: str | bytes) -> frozenset[str]:
    return frozenset(map(str, json.loads(decompressed(text, TEXT) if isinstance(text, bytes) else text)))


def _minute(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
