"""A campaign's memory: programs, counts and findings in one SQLite file, which survives kill -9."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table, create_engine, event, func, literal, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DatabaseError, OperationalError, StatementError

from irfuzz.errors import InternalError, UsageError
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.corpus_index import CorpusIndex, IndexRow, add_entries
from irfuzz.store.database_schema import ELSEWHERE, FINDING, LEAVING, METADATA, PROGRAM, SCHEMA, SETTING, TALLY
from irfuzz.store.fault_marks import FaultMarks, count_elsewhere
from irfuzz.store.locked_database_wait import PatientConnection
from irfuzz.store.model_blob_packing import pack_model, whole_model
from irfuzz.store.stored_program_encoding import StoredPrograms
from irfuzz.store.waiting_rows import WaitingRow, WaitingRows


class Status(StrEnum):
    """Where a finding stands."""

    CONFIRMED = "confirmed"
    """Its ``repro.py`` shows it in a fresh process."""
    UNREPLAYED = "unreplayed"
    """It was seen, but its ``repro.py`` does not show it; reported apart from the findings."""
    EXPLAINED = "explained"
    """What had no proof and turned out to be a known finding; its row stays, and nobody is told of it any more."""


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """A program of the corpus; see ``schema.PROGRAM``, and ``schema.ENTRY`` for what is known of it without reading it.

    Attributes:
        nodes: of a new program.
        cost: of a new program; 0 if it is not to be known yet.
        keys: of the features that a new program brought.
    """

    digest: str
    model: bytes
    seed: str
    parent: str
    trace: str
    features: int
    job: int
    iteration: int
    nodes: int = 0
    cost: int = 0
    keys: bytes = b""


_PROGRAM = tuple(ProgramRow.__slots__)[:-3]
"""Fields of it that are columns of its table."""

_INSERT_PROGRAMS = insert(PROGRAM).on_conflict_do_nothing().returning(PROGRAM.c.number, PROGRAM.c.digest)


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding; see ``schema.FINDING``."""

    signature: str
    symptom: str
    target: str
    suspect: bool
    title: str
    verdict: str
    runs: str
    trace: str
    model: bytes
    inputs: bytes
    original_model: bytes
    original_inputs: bytes
    status: str
    job: int
    iteration: int
    times: int = 1
    number: int = 0
    first: float = 0.0
    last: float = 0.0


Row = TypeVar("Row", ProgramRow, FindingRow, WaitingRow)

_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "bytes": (bytes,),
    "int": (int,),
    "bool": (bool,),
    "float": (float, int),
}
"""What may stand in a column, by the annotation of its field."""

_LARGE = frozenset({"model", "inputs", "original_model", "original_inputs"})

_MODELS = ("model", "original_model")

BLOBS = "blobs"
"""Folder beside the database with the large weights of its programs."""


class Database:
    """One campaign's database, opened by several processes at once.

    Every method is one transaction: after it returns, ``kill -9`` of any process loses nothing of it.

    Attributes:
        path: of the file.
        blobs: large weights of its programs.
        programs: writes and reads its programs.
        waiting: disagreements that nobody has looked into.
        marks: by what faults that were looked into are recognised.

    Raises:
        UsageError: the file cannot be opened or written (any method: the disk may fill up), is no database, has
            another schema version, or (any method) is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blobs = FolderBlobs(path.parent / BLOBS, within=True)
        self.programs = StoredPrograms(self.blobs)
        self.index = CorpusIndex(self.transaction, self._damaged)
        self.waiting = WaitingRows(self.transaction, self._row)
        self.marks = FaultMarks(self.transaction, self._damaged)
        self._engine: Engine = create_engine(f"sqlite:///{path}", connect_args={"factory": PatientConnection})
        event.listen(self._engine, "connect", _configure)
        try:
            with self._engine.begin() as connection:
                METADATA.create_all(connection)
                connection.execute(insert(SETTING).values(key="schema", value=str(SCHEMA)).on_conflict_do_nothing())
                found = connection.execute(select(SETTING.c.value).where(SETTING.c.key == "schema")).scalar_one()
        except (OperationalError, DatabaseError) as error:
            raise UsageError(f"{path}: cannot be used as a campaign database: {error.orig}") from None
        if found != str(SCHEMA):
            raise UsageError(f"{path}: expected database schema {SCHEMA}, got {found}; use another --out folder")

    def close(self) -> None:
        """Close every connection of this process; what was stored stays, and other processes are not disturbed."""
        self._engine.dispose()

    def compact(self) -> None:
        """Give the room of removed rows back to the file system; nobody else may be using the database.

        Raises:
            UsageError: there is no room for the copy that this takes, or the database is damaged.
        """
        try:
            with self._engine.connect() as connection:
                automatic = connection.execution_options(isolation_level="AUTOCOMMIT")
                automatic.exec_driver_sql("VACUUM")
                automatic.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        except DatabaseError as error:
            raise UsageError(f"{self.path}: cannot be made smaller: {error.orig}") from error

    @contextmanager
    def transaction(self) -> Generator[Connection]:
        """All that is done inside, or none of it.

        Raises:
            UsageError: it cannot be read or written, or is damaged.
        """
        try:
            with self._engine.begin() as connection:
                yield connection
        except OperationalError as error:
            raise UsageError(f"{self.path}: cannot be read or written: {error.orig}") from error
        except (DatabaseError, StatementError) as error:
            raise self._damaged(str(error.orig)) from error

    def _damaged(self, why: str) -> UsageError:
        way = f"`irfuzz findings recover {self.path.parent} -o NEW` keeps what can be read"
        return UsageError(f"{self.path}: the database is damaged: {why}; {way}")

    def _row(self, kind: type[Row], values: Sequence[Any]) -> Row:
        """A row as it was stored.

        Raises:
            UsageError: a value is not of the type that its column says.
        """
        for name, value in zip(tuple(kind.__slots__)[: len(values)], values, strict=True):
            expected = _TYPES[kind.__annotations__[name]]
            if not isinstance(value, expected):
                got = f"{type(value).__name__} {str(value)[:40]!r}"
                raise self._damaged(f"{kind.__name__}: {name}: expected {kind.__annotations__[name]}, got {got}")
        return kind(*values)

    def _counts(self, text: object) -> dict[str, int]:
        """What a tally counts.

        Raises:
            UsageError: the text is no JSON object of whole numbers.
        """
        try:
            counts = json.loads(text) if isinstance(text, str) else None
        except ValueError:
            counts = None
        if not isinstance(counts, dict) or not all(isinstance(n, int) for n in counts.values()):
            raise self._damaged(f"tally: counts: expected a JSON object of whole numbers, got {str(text)[:40]!r}")
        return counts

    # ---- settings ---------------------------------------------------------------------------

    def settings(self) -> dict[str, str]:
        """All settings by key, the version of the schema under ``schema`` among them."""
        with self.transaction() as connection:
            return {row.key: row.value for row in connection.execute(select(SETTING))}

    def set(self, key: str, value: str) -> None:
        """Store a setting, over an older one of the same key.

        Args:
            key: of the setting; not ``schema``, which says how to read the file.
            value: text; encode what is more than that.
        """
        with self.transaction() as connection:
            statement = insert(SETTING).values(key=key, value=value)
            connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": value}))

    # ---- corpus -----------------------------------------------------------------------------

    def add_program(self, row: ProgramRow) -> bool:
        """Add a program; False if one with its digest is there already, which then stays as it is.

        Args:
            row: its model is stored as it comes (see ``programs`` for how to write one).
        """
        with self.transaction() as connection:
            return insert_programs(connection, [row]) != [None]

    def record(
        self,
        job: int,
        iteration: int,
        programs: int,
        counts: Mapping[str, int],
        rows: Sequence[ProgramRow],
    ) -> int:
        """Add programs, and cases that wait, and store how far a job has come, all or nothing; how many programs were
        new.

        Args:
            job: number of the job, whose older tally is replaced.
            iteration: with which it goes on.
            programs: that it has made so far.
            counts: are stored with those that were new added to ``corpus``.
            rows: the programs; those whose digests are known are left out.
        """
        with self.transaction() as connection:
            numbers = insert_programs(connection, rows)
            new = [(number, row) for number, row in zip(numbers, rows, strict=True) if number is not None]
            add_entries(connection, [index_row(number, row) for number, row in new if row.cost])
            self.waiting.store(connection)
            added = len(new)
            if added:
                counts = {**counts, "corpus": counts.get("corpus", 0) + added}
            tally = {"job": job, "iteration": iteration, "programs": programs, "counts": json.dumps(dict(counts))}
            statement = insert(TALLY).values(**tally)
            connection.execute(statement.on_conflict_do_update(index_elements=["job"], set_=tally))
        self.waiting.stored()
        return added

    def numbered(self, number: int) -> ProgramRow:
        """The program of that number, as ``program`` gives it.

        Raises:
            InternalError: there is none.
        """
        return self._row(ProgramRow, self._only(PROGRAM, _PROGRAM, "number", number))

    def programs_after(self, number: int, most: int = 200) -> list[tuple[int, ProgramRow]]:
        """The oldest programs added after the one of that number, ``most`` at most, each with its number.

        Args:
            number: of a program; 0 for the first ones. Give the last number of one call to the next.
            most: of them; fewer are returned only if there are no more.
        """
        columns = [PROGRAM.c.number, *(PROGRAM.c[name] for name in _PROGRAM)]
        query = select(*columns).where(PROGRAM.c.number > number).order_by(PROGRAM.c.number).limit(most)
        with self.transaction() as connection:
            found = [list(row) for row in connection.execute(query)]
        return [(number, self._row(ProgramRow, values)) for number, *values in found]

    def program(self, digest: str) -> ProgramRow:
        """The program of that digest, with its model as it was stored.

        Args:
            digest: of the program.

        Raises:
            InternalError: there is none.
        """
        return self._row(ProgramRow, self._only(PROGRAM, _PROGRAM, "digest", digest))

    def _only(self, table: Table, columns: Iterable[str], key: str, value: str | int) -> Sequence[Any]:
        query = select(*(table.c[name] for name in columns)).where(table.c[key] == value)
        with self.transaction() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise InternalError(f"{self.path}: no {table.name} has {key} {value}")
        return row

    def holds(self, digest: str) -> bool:
        """Whether there is a program of that digest; it is not read, so this is quick for large ones, too."""
        with self.transaction() as connection:
            query = select(func.count()).select_from(PROGRAM).where(PROGRAM.c.digest == digest)
            return connection.execute(query).scalar_one() > 0

    def corpus_size(self) -> int:
        """How many programs there are, seeds included, but for those that leave; all processes together have added
        them so far.
        """
        with self.transaction() as connection:
            query = select(func.count()).select_from(PROGRAM)
            return connection.execute(query.where(PROGRAM.c.number.not_in(select(LEAVING.c.number)))).scalar_one()

    # ---- counts -----------------------------------------------------------------------------

    def tally(self, job: int) -> tuple[int, int, dict[str, int]]:
        """``(next iteration, programs, counts)`` of a job, as ``record`` stored them last; zeros and no counts if it is
        new.
        """
        with self.transaction() as connection:
            row = connection.execute(select(TALLY).where(TALLY.c.job == job)).one_or_none()
        return (0, 0, {}) if row is None else self._tally(row)[1:]

    def tallies(self) -> list[tuple[int, int, int, dict[str, int]]]:
        """``(job, iteration, programs, counts)`` of every job that has stored any, by the number of the job."""
        with self.transaction() as connection:
            rows = connection.execute(select(TALLY).order_by(TALLY.c.job)).all()
        return [self._tally(row) for row in rows]

    def _tally(self, row: Any) -> tuple[int, int, int, dict[str, int]]:
        """A job's row.

        Raises:
            UsageError: a value is not what its column says.
        """
        numbers = (row.job, row.iteration, row.programs)
        if not all(isinstance(number, int) for number in numbers):
            raise self._damaged(f"tally: expected whole numbers, got {numbers}")
        return (*numbers, self._counts(row.counts))

    # ---- findings ---------------------------------------------------------------------------

    def count_again(self, signature: str, *, explains: int = 0) -> bool:
        """Count a finding once more, which another agent of a fleet may have found; False if its signature is new.

        Args:
            signature: of the finding.
            explains: number of what had no proof and turned out to be this finding; 0 for none.
        """
        with self.transaction() as connection:
            return _count(connection, signature, explains)

    def is_open(self, number: int, *, suspect: bool) -> bool:
        """Whether the finding of a number still has no proof.

        Args:
            number: of it.
            suspect: it is one; one that is a suspect no more is not open then.
        """
        query = select(FINDING.c.suspect, FINDING.c.status).where(FINDING.c.number == number)
        with self.transaction() as connection:
            row = connection.execute(query).one_or_none()
        return row is not None and tuple(row) == (suspect, Status.UNREPLAYED.value)

    def set_verdict(self, number: int, verdict: str) -> None:
        """Replace the verdict's text of a finding, to which something was added.

        Args:
            number: of the finding; nothing happens if there is none.
            verdict: JSON, in full.
        """
        with self.transaction() as connection:
            connection.execute(update(FINDING).where(FINDING.c.number == number).values(verdict=verdict))

    def known(self) -> list[tuple[int, str, str]]:
        """Number, signature and verdict of each finding that is no suspect, and that no other explains, in their order.

        Verdicts are JSON; models and inputs are not read. Behind them come findings of other agents, with the number 0.
        """
        query = select(FINDING.c.number, FINDING.c.signature, FINDING.c.verdict).where(
            ~FINDING.c.suspect, FINDING.c.status != Status.EXPLAINED.value
        )
        others = select(literal(0).label("number"), ELSEWHERE.c.signature, ELSEWHERE.c.verdict).order_by(
            ELSEWHERE.c.number
        )
        with self.transaction() as connection:
            rows = [*connection.execute(query.order_by(FINDING.c.number)), *connection.execute(others)]
        return [(row.number, row.signature, row.verdict) for row in rows]

    def replace_finding(self, row: FindingRow, *, explains: int = 0) -> None:
        """Let a better case stand for the finding of its number, which is counted once more.

        Signature, number and the time when it was first seen stay.

        Args:
            row: of the better case.
            explains: as in ``count_again``.
        """
        values = self._values(row, {"number", "first", "last", "times", "signature"})
        with self.transaction() as connection:
            statement = update(FINDING).where(FINDING.c.number == row.number)
            connection.execute(statement.values(**values, times=FINDING.c.times + 1, last=time.time()))
            _explain(connection, explains)

    def promote(self, row: FindingRow) -> bool:
        """Let what has a row's number, and had no proof, be the finding that the row holds, in one transaction.

        Returns:
            False if there is another finding of that signature, which is counted and explains it then.
        """
        values = self._values(row, {"number", "first", "last", "times"})
        with self.transaction() as connection:
            if _count(connection, row.signature, row.number):
                return False
            now = time.time()
            statement = update(FINDING).where(FINDING.c.number == row.number)
            connection.execute(statement.values(**values, first=now, last=now))
            return True

    def _values(self, row: FindingRow, kept: Collection[str]) -> dict[str, Any]:
        """What is stored of a row, but for columns that keep what they hold."""
        values = {name: getattr(row, name) for name in FindingRow.__slots__ if name not in kept}
        return {**values, **{name: pack_model(getattr(row, name), self.blobs) for name in _MODELS}}

    def add_finding(self, row: FindingRow) -> int | None:
        """Add a finding and return its number; if its signature is known, count that one and return ``None``.

        Args:
            row: large weights of its models are moved to the blobs. Its ``number``, ``first`` and ``last`` are not
                used.
        """
        values = self._values(row, {"number", "first", "last"})
        now = time.time()
        with self.transaction() as connection:
            statement = insert(FINDING).values(**values, first=now, last=now)
            result = connection.execute(
                statement.on_conflict_do_nothing(index_elements=["signature"]).returning(FINDING.c.number)
            )
            number = result.scalar_one_or_none()
        if number is None:
            self.count_again(row.signature)
        return number

    def findings(self, *, suspects: bool | None = None, bare: bool = False) -> list[FindingRow]:
        """All findings in the order in which they were made; with or without suspects, or only those.

        Args:
            suspects: only those, or all others; ``None``: both.
            bare: with empty models and inputs, which may be too large to hold all at once.
        """
        columns = [literal(b"").label(n) if bare and n in _LARGE else FINDING.c[n] for n in FindingRow.__slots__]
        query = select(*columns).order_by(FINDING.c.number)
        if suspects is not None:
            query = query.where(FINDING.c.suspect == suspects)
        with self.transaction() as connection:
            rows = connection.execute(query).all()
        found = [self._row(FindingRow, row) for row in rows]
        return [replace(r, **{name: whole_model(getattr(r, name), self.blobs) for name in _MODELS}) for r in found]

    def finding(self, number: int) -> FindingRow:
        """The finding of that number, with its models in one piece.

        Raises:
            InternalError: there is none, or a blob of a model is missing.
            InvalidProgram: a model is over 2 GiB.
        """
        found = self._row(FindingRow, self._only(FINDING, FindingRow.__slots__, "number", number))
        return replace(found, **{name: whole_model(getattr(found, name), self.blobs) for name in _MODELS})

    def finding_counts(self) -> dict[str, int]:
        """``findings``, ``suspects``, ``unreplayed`` and ``last`` (time of the newest finding, 0 for none).

        What another finding explains is in none of them. ``last`` is in whole seconds since 1970, and of confirmed
        findings only.
        """
        with self.transaction() as connection:
            rows = connection.execute(
                select(FINDING.c.suspect, FINDING.c.status, func.count(), func.max(FINDING.c.first)).group_by(
                    FINDING.c.suspect, FINDING.c.status
                )
            ).all()
        counts = {"findings": 0, "suspects": 0, "unreplayed": 0, "last": 0}
        for suspect, status, count, first in rows:
            if status == Status.EXPLAINED:
                continue
            if suspect:
                counts["suspects"] += count
            elif status == Status.CONFIRMED:
                counts["findings"] += count
                counts["last"] = max(counts["last"], int(first))
            else:
                counts["unreplayed"] += count
        return counts


def _count(connection: Connection, signature: str, explains: int) -> bool:
    """Count the finding of a signature once more, and mark what it explains; False if there is none."""
    statement = update(FINDING).where(FINDING.c.signature == signature).returning(FINDING.c.number)
    number = connection.execute(statement.values(times=FINDING.c.times + 1, last=time.time())).scalar_one_or_none()
    known = number is not None or count_elsewhere(connection, signature)
    if known and number != explains:  # nothing explains itself
        _explain(connection, explains)
    return known


def _explain(connection: Connection, number: int) -> None:
    if number:
        open_ = FINDING.c.status == Status.UNREPLAYED.value
        statement = update(FINDING).where(FINDING.c.number == number, open_)
        connection.execute(statement.values(status=Status.EXPLAINED.value))


def insert_programs(connection: Connection, rows: Sequence[ProgramRow]) -> list[int | None]:
    """Add programs, as a part of a transaction.

    Args:
        connection: of the transaction.
        rows: the programs.

    Returns:
        The number of each in the order of ``rows``; ``None`` if one with its digest is there already.
    """
    if not rows:
        return []
    now = time.time()
    values = [{**{name: getattr(row, name) for name in _PROGRAM}, "added": now} for row in rows]
    new = {row.digest: row.number for row in connection.execute(_INSERT_PROGRAMS, values)}
    return [new.pop(row.digest, None) for row in rows]


def index_row(number: int, row: ProgramRow) -> IndexRow:
    """What the index says of a new program."""
    return IndexRow(
        number, row.digest, row.seed, not row.parent, row.features, nodes=row.nodes, cost=row.cost, keys=row.keys
    )


def _configure(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    # Write-ahead log: readers never wait, and a killed process leaves a whole database behind.
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()
