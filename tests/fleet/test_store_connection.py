"""A store is made once, whoever opens it; what is none, is away or is newer is told in one line."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from irfuzz.errors import UsageError
from irfuzz.fleet.fleet_schema import FEATURE, FLEET_METADATA, REVISION
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.store.database import Database

pytestmark = pytest.mark.unit


def test_the_steps_make_the_tables_that_the_code_reads(store: StoreConnection) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store.transaction() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "fleet_version"})
        assert compare_metadata(context, FLEET_METADATA) == []
        assert context.get_current_revision() == REVISION


def test_those_who_open_it_together_make_one(opened: Callable[[], StoreConnection]) -> None:
    ids: list[str] = []

    def opens() -> None:
        store = opened()
        with store.transaction() as connection:
            ids.append(store.settings(connection)["id"])

    threads = [threading.Thread(target=opens) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 4
    assert len(set(ids)) == 1


def test_numbers_are_given_once(opened: Callable[[], StoreConnection]) -> None:
    found: list[int] = []

    def takes() -> None:
        store = opened()
        for _ in range(5):
            with store.transaction() as connection:
                found.append(store.next_numbers(connection, "n", 10))

    threads = [threading.Thread(target=takes) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [10 * n for n in range(15)]


def test_rows_that_are_there_stay_as_they_are(store: StoreConnection) -> None:
    rows = [{"key": key, "agent": "a", "added": 1.5} for key in (-(1 << 63), 3, 4)]
    with store.transaction() as connection:
        store.insert_new(connection, FEATURE, rows[:2])
        store.insert_new(connection, FEATURE, [{**row, "agent": "b"} for row in rows])
        store.insert_new(connection, FEATURE, [])
        found = connection.execute(select(FEATURE).order_by(FEATURE.c.key)).all()
    assert [tuple(row) for row in found] == [(-(1 << 63), "a", 1.5), (3, "a", 1.5), (4, "b", 1.5)]


def test_a_transaction_that_fails_leaves_nothing(store: StoreConnection) -> None:
    def fails() -> None:
        with store.transaction() as connection:
            store.set(connection, {"a": "1"})
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    with store.transaction() as connection:
        assert "a" not in store.settings(connection)


def test_an_older_store_is_brought_up_to_date(store: StoreConnection, store_url: str) -> None:
    with store.transaction() as connection:
        connection.execute(text("insert into fleet_setting values ('kept', 'x')"))
        connection.execute(text("drop table finding_label"))
        connection.execute(text("drop table fault_mark"))
        connection.execute(text("alter table agent drop column tallies"))
        connection.execute(text("update fleet_version set version_num = '0002'"))
    newer = StoreConnection(store_url)
    with newer.transaction() as connection:
        assert newer.settings(connection)["kept"] == "x"
        assert connection.execute(text("select version_num from fleet_version")).scalar_one() == REVISION
        assert connection.execute(text("select count(*) from finding_label")).scalar_one() == 0
        connection.execute(text("select tallies from agent"))
        assert connection.execute(text("select count(*) from fault_mark")).scalar_one() == 0
    newer.close()


def test_a_newer_version_is_refused(store: StoreConnection, store_url: str) -> None:
    with store.transaction() as connection:
        connection.execute(text("update fleet_version set version_num = '9999'"))
    with pytest.raises(UsageError, match=f"expected version {REVISION} of its tables, got 9999; a newer irfuzz"):
        StoreConnection(store_url)


def test_an_empty_database_is_a_store_only_for_agents(store_url: str) -> None:
    with pytest.raises(UsageError, match=r"there is no such file|holds no fleet"):
        StoreConnection(store_url)
    StoreConnection(store_url, make=True).close()
    StoreConnection(store_url).close()


@pytest.mark.parametrize(
    "url",
    ["", "fleet.sqlite", "sqlite://", "sqlite:///:memory:", "mysql://host/x", "postgresql+psycopg2://h/x", "oracle:x"],
)
def test_a_wrong_url_is_told(url: str) -> None:
    with pytest.raises(UsageError, match=r"^--store: expected "):
        StoreConnection(url, make=True)


def test_a_password_is_not_told() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(
        StoreUnreachable, match=r"postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/x: cannot be reached"
    ) as told:
        StoreConnection("postgresql://me:secret@127.0.0.1:1/x", make=True)
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)


def test_a_file_that_is_something_else_is_told(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no database at all, but long enough to be read as one" * 20)
    with pytest.raises(UsageError, match="file is not a database"):
        StoreConnection(f"sqlite:///{path}", make=True)
    Database(tmp_path / "campaign.sqlite").close()
    with pytest.raises(UsageError, match="got one with a table 'fault_mark' of something else"):
        StoreConnection(f"sqlite:///{tmp_path}/campaign.sqlite", make=True)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot be made: Not a directory|cannot be made: File exists"):
        StoreConnection(f"sqlite:///{tmp_path}/file/fleet.sqlite", make=True)


def test_a_server_that_comes_back_is_reached_again(postgres: Any) -> None:
    store = StoreConnection(postgres.database(), make=True)
    postgres.stop()
    with pytest.raises(StoreUnreachable), store.transaction():
        pass
    postgres.start()
    with store.transaction() as connection:
        assert store.settings(connection)["id"]
    store.close()


def test_a_back_end_that_is_killed_loses_only_its_transaction(postgres: Any) -> None:
    url = postgres.database()
    store, other = StoreConnection(url, make=True), StoreConnection(url)

    def is_killed() -> None:
        with store.transaction() as connection:
            store.set(connection, {"lost": "1"})
            backend = connection.execute(text("select pg_backend_pid()")).scalar_one()
            with other.transaction() as killer:
                killer.execute(text(f"select pg_terminate_backend({backend})"))
            store.set(connection, {"lost": "2"})

    with pytest.raises(StoreUnreachable):
        is_killed()
    with store.transaction() as connection:
        assert "lost" not in store.settings(connection)
    store.close()
    other.close()
