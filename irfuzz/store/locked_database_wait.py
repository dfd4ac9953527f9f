"""Waits for a database that another process has locked, in steps that let signals be heard."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

STEP = 0.5
"""Seconds that SQLite itself waits: meanwhile no signal is handled, and a job has to see that its campaign is gone."""

LONGEST = 180.0
"""Seconds after which a lock is an error; a backup, or a shell with an open transaction, may hold it for a minute."""


class PatientConnection(sqlite3.Connection):
    """A connection whose statements wait for ``LONGEST`` seconds until others have released their locks."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **{**options, "timeout": STEP})

    def cursor(self, factory: Any = None) -> sqlite3.Cursor:
        """A cursor that waits."""
        return super().cursor(_PatientCursor if factory is None else factory)

    def commit(self) -> None:
        """Commit, once nobody else holds a lock that is needed."""
        _patient(super().commit)


class _PatientCursor(sqlite3.Cursor):
    def execute(self, *words: Any) -> sqlite3.Cursor:
        return _patient(super().execute, *words)

    def executemany(self, *words: Any) -> sqlite3.Cursor:
        return _patient(super().executemany, *words)


def _patient(run: Callable[..., T], *words: Any) -> T:
    """Run a statement, again and again as long as the database is locked.

    Raises:
        sqlite3.OperationalError: it still is after ``LONGEST``, or the transaction has read what was changed since, so
            that waiting does not help.
    """
    end = time.monotonic() + LONGEST
    while True:
        try:
            return run(*words)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
