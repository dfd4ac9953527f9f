"""A lock that somebody else holds for a while is waited for, and one that stays is an error that says so."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from irfuzz.errors import UsageError
from irfuzz.store import locked_database_wait
from irfuzz.store.database import Database

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked_database_wait, "STEP", 0.05)


def locks(path: Path) -> sqlite3.Connection:
    """A stranger with an open transaction."""
    stranger = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    stranger.execute("begin immediate")
    stranger.execute("insert into setting values ('theirs', 'x')")
    return stranger


def test_what_is_locked_for_a_while_is_written_afterwards(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.sqlite")
    with closing(locks(database.path)) as stranger:
        assert "theirs" not in database.settings(), "reading waits for nobody"
        began = time.monotonic()
        later = threading.Timer(0.6, stranger.execute, ["commit"])
        later.start()
        database.set("ours", "y")
        assert time.monotonic() - began >= 0.5
        later.join()
    assert (database.settings()["theirs"], database.settings()["ours"]) == ("x", "y")
    database.close()


def test_what_stays_locked_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(tmp_path / "c.sqlite")
    monkeypatch.setattr(locked_database_wait, "LONGEST", 0.3)
    with closing(locks(database.path)) as stranger:
        began = time.monotonic()
        with pytest.raises(UsageError, match=r"c\.sqlite: cannot be read or written: database is locked"):
            database.set("ours", "y")
        assert 0.3 <= time.monotonic() - began < 5
        stranger.execute("rollback")
    database.set("ours", "y")
    assert database.settings()["ours"] == "y"
    database.close()


def test_other_errors_are_not_waited_for(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "d", factory=locked_database_wait.PatientConnection)) as connection:
        began = time.monotonic()
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            connection.execute("select * from absent")
        assert time.monotonic() - began < 5
