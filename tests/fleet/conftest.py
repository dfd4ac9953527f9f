"""Stores for the tests: SQLite always, and a PostgreSQL that is started here where Debian's package is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection


@pytest.fixture(autouse=True, scope="session")
def installed() -> None:
    """Skip what cannot run here."""
    for package in ("alembic", "fsspec", "zstandard"):
        pytest.importorskip(package, reason="the extra fleet is not installed")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server; tests that need it are skipped where there is none to start."""
    pytest.importorskip("psycopg", reason="the extra fleet is not installed")
    try:
        server = PostgresServer.begin()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that nobody has made yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store/fleet.sqlite"
    return request.getfixturevalue("postgres").database()


@pytest.fixture
def opened(store_url: str) -> Iterator[Callable[[], StoreConnection]]:
    """Opens the store, each time as another process would."""
    found: list[StoreConnection] = []

    def opens() -> StoreConnection:
        found.append(StoreConnection(store_url, make=True))
        return found[-1]

    yield opens
    for one in found:
        one.close()


@pytest.fixture
def store(opened: Callable[[], StoreConnection]) -> StoreConnection:
    """A store with its tables."""
    return opened()


@pytest.fixture
def blobs(tmp_path: Path) -> SharedBlobs:
    """In a folder."""
    return SharedBlobs(str(tmp_path / "blobs"))
