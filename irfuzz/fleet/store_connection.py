"""Opens the store of a fleet by its URL, brings its tables up to date, and tells what is wrong in one line."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    BindParameter,
    Column,
    Connection,
    Engine,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from irfuzz.errors import UsageError
from irfuzz.fleet.fleet_schema import FLEET_METADATA, FLEET_SETTING, REVISION

EXTRA = "pip install 'irfuzz[fleet]'"

BUSY_SECONDS = 30.0
"""How long a store in SQLite waits for another writer."""

ANSWER_SECONDS = 60
"""After so long PostgreSQL gives up a statement, so that a lock that somebody holds does not stop an agent for good."""

IDLE_SECONDS = 30
"""After so long PostgreSQL drops a transaction of an agent that says nothing more, whose rows others may wait for."""

_LIMITS = (
    f"set local statement_timeout = {ANSWER_SECONDS * 1000}; "
    f"set local idle_in_transaction_session_timeout = {IDLE_SECONDS * 1000}"
)

VERSION = "fleet_version"
"""Table in which alembic keeps the revision."""

SCHEMES = "sqlite:///PATH or postgresql+psycopg://USER:PASSWORD@HOST/NAME"


class StoreUnreachable(UsageError):
    """The store or its blobs cannot be reached now; whoever has work keeps it and tries again."""


class StoreConnection:
    """The database of a fleet. Each ``transaction`` is one of the database's, and is repeated by the caller if at all.

    Args:
        url: ``sqlite:///PATH`` or ``postgresql+psycopg://...``.
        make: make the tables if there are none, and bring older ones up to date.

    Raises:
        UsageError: the URL is wrong, what it names is no store of a fleet, or a newer irfuzz has changed it.
        StoreUnreachable: nobody answers.
    """

    def __init__(self, url: str, *, make: bool = False) -> None:
        self.url = _parsed(url)
        self.name = self.url.render_as_string(hide_password=True)
        if self.file is not None and not make and not self.file.is_file():
            raise UsageError(f"--store {self.name}: there is no such file; `irfuzz agent` makes it")
        if self.file is not None and make:
            _make_folder(self.file.parent, self.name)
        self._engine = self._opened()
        try:
            with self.transaction() as connection:
                self._bring_up_to_date(connection, make=make)
        except BaseException:
            self.close()
            raise

    @property
    def file(self) -> Path | None:
        """The file of a store in SQLite; ``None`` for a server's."""
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    def close(self) -> None:
        """Close all connections of this process."""
        self._engine.dispose()

    @contextmanager
    def transaction(self) -> Generator[Connection]:
        """All that is done inside, or none of it.

        Raises:
            StoreUnreachable: the database is away, busy or has given the transaction up; it may be tried again.
            UsageError: the database refuses, such as for missing rights.
        """
        try:
            with self._engine.begin() as connection:
                if self.file is None:
                    connection.execute(text(_LIMITS))
                yield connection
        except (OperationalError, InterfaceError, PoolTimeout) as error:
            line = _first_line(error)
            how = "is busy" if "deadlock" in line else "cannot be reached"
            raise StoreUnreachable(f"--store {self.name}: {how}: {line}") from error
        except DBAPIError as error:
            kind = StoreUnreachable if error.connection_invalidated else UsageError
            raise kind(f"--store {self.name}: the database refuses: {_first_line(error)}") from error

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An INSERT of the database's own kind, which has ``on_conflict_do_nothing`` and ``on_conflict_do_update``.

        Args:
            table: of the store.
        """
        return postgresql.insert(table) if self.file is None else sqlite.insert(table)

    def insert_new(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Add rows; what is there already under a key stays as it is.

        PostgreSQL gets one short statement with an array for each column, which costs it and the driver a third of what
        a statement for each row does.

        Args:
            connection: of a transaction.
            table: of the store.
            rows: values by name of column, the same names in each.
        """
        if not rows:
            return
        if self.file is not None:
            connection.execute(sqlite.insert(table).on_conflict_do_nothing(), [dict(row) for row in rows])
            return
        columns = [table.c[name] for name in rows[0]]
        arrays = [func.unnest(array_of(f"all_{c.name}", c)) for c in columns]
        statement = postgresql.insert(table).from_select(columns, select(*arrays)).on_conflict_do_nothing()
        connection.execute(statement, {f"all_{c.name}": [row[c.name] for row in rows] for c in columns})

    def settings(self, connection: Connection) -> dict[str, str]:
        """What all agents have in common, by key.

        Args:
            connection: of a transaction.
        """
        return {row.key: row.value for row in connection.execute(select(FLEET_SETTING))}

    def set(self, connection: Connection, values: Mapping[str, str]) -> None:
        """Store what all agents have in common, over older values.

        Args:
            connection: of a transaction.
            values: by key.
        """
        for key, value in values.items():
            statement = self.insert(FLEET_SETTING).values(key=key, value=value)
            connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": value}))

    def next_numbers(self, connection: Connection, key: str, many: int) -> int:
        """Take numbers that nobody else gets; the first of them.

        Args:
            connection: of a transaction.
            key: of the setting that counts them.
            many: how many.
        """
        connection.execute(self.insert(FLEET_SETTING).values(key=key, value="0").on_conflict_do_nothing())
        query = select(FLEET_SETTING.c.value).where(FLEET_SETTING.c.key == key).with_for_update()
        first = int(connection.execute(query).scalar_one())
        statement = update(FLEET_SETTING).where(FLEET_SETTING.c.key == key)
        connection.execute(statement.values(value=str(first + many)))
        return first

    # ---- opening ----------------------------------------------------------------------------

    def _opened(self) -> Engine:
        try:
            if self.file is None:
                return create_engine(
                    self.url, pool_size=1, max_overflow=1, pool_pre_ping=True,
                    connect_args={
                        "connect_timeout": 5, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
                        "tcp_user_timeout": 20_000, "prepare_threshold": None, "application_name": "irfuzz",
                    },
                )  # fmt: skip
            engine = create_engine(self.url, connect_args={"timeout": BUSY_SECONDS, "isolation_level": None})
        except ModuleNotFoundError as error:
            raise UsageError(f"--store {self.name}: needs {error.name}; {EXTRA}") from None
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin_at_once)
        return engine

    def _bring_up_to_date(self, connection: Connection, *, make: bool) -> None:
        if self.file is None:
            connection.execute(text("select pg_advisory_xact_lock(7236529)"))  # agents that start together wait here
        found = _revision(connection)
        if found == REVISION:
            return
        if not found:
            own = set(FLEET_METADATA.tables)
            others = sorted(set(inspect(connection).get_table_names()) & own)
            if others:
                raise UsageError(
                    f"--store {self.name}: expected a store of a fleet or an empty database, got one with a table "
                    f"{others[0]!r} of something else"
                )
            if not make:
                raise UsageError(f"--store {self.name}: holds no fleet; `irfuzz agent` begins one")
        self._migrate(connection, found)

    def _migrate(self, connection: Connection, found: str) -> None:
        try:
            from alembic import command
            from alembic.config import Config as AlembicConfig
            from alembic.script import ScriptDirectory
        except ModuleNotFoundError as error:
            raise UsageError(f"--store {self.name}: needs {error.name}; {EXTRA}") from None
        config = AlembicConfig()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        config.attributes["connection"] = connection
        known = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]
        if found and found not in known:
            raise UsageError(
                f"--store {self.name}: expected version {REVISION} of its tables, got {found}; a newer irfuzz has "
                "changed it: install that version here"
            )
        command.upgrade(config, "head")
        if not found:
            self.set(connection, {"id": uuid.uuid4().hex})


def array_of(name: str, column: Column[Any]) -> BindParameter[Any]:
    """A parameter of a statement for PostgreSQL with values of a column for many rows.

    Args:
        name: of the parameter.
        column: whose type they have.
    """
    return bindparam(name, type_=postgresql.ARRAY(column.type))


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
        if backend == "postgresql" and "+" not in parsed.drivername:
            parsed = parsed.set(drivername="postgresql+psycopg")
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise UsageError(f"--store: expected {SCHEMES}, got {url!r}") from None
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise UsageError(f"--store: expected {SCHEMES}, got {parsed.render_as_string(hide_password=True)!r}")
    if backend == "sqlite" and (not parsed.database or parsed.database == ":memory:"):
        raise UsageError(f"--store: expected a file in {SCHEMES}, got {url!r}")
    return parsed


def _make_folder(folder: Path, name: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--store {name}: {folder} cannot be made: {error.strerror}") from None


def _revision(connection: Connection) -> str:
    """The version of the tables; empty if there are none."""
    if not inspect(connection).has_table(VERSION):
        return ""
    return str(connection.execute(text(f"select version_num from {VERSION}")).scalar() or "")  # noqa: S608 - a constant


def _first_line(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


def _configure(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _begin_at_once(connection: Connection) -> None:
    """Take the writer's lock first: a transaction that reads and then writes would fail beside another one."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
