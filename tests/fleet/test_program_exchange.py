"""Programs reach every agent once, whatever is killed in between, and each replays from its row."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.fleet.agent_registry import AgentAccount, join, register
from irfuzz.fleet.blob_sweep import missing_blobs
from irfuzz.fleet.fleet_schema import AGENT, FEATURE, INTAKE, SHARED_PROGRAM
from irfuzz.fleet.program_exchange import BATCH, ProgramIntake, features_of, give, give_seeds, prepare
from irfuzz.fleet.program_replay import replay_program
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.synchronisation import FolderSync
from irfuzz.store.database import Database
from irfuzz.store.taken_programs import own_programs, taken_after, vectors_of
from tests.fleet.made import add_mutants, add_seed, folder, mutants, seed

pytestmark = pytest.mark.unit


class Member:
    """An agent without a campaign: its folder, and what synchronises it."""

    def __init__(self, store: StoreConnection, blobs: SharedBlobs, path: Path) -> None:
        self.name = path.name
        self.database: Database = folder(path)
        first = join(store, None)[0]
        self.account: AgentAccount = register(store, self.name, first, ["reference"], 1)
        self._made = store, blobs, path
        self.sync = self.again()

    def again(self) -> FolderSync:
        """As after a kill: nothing is known but what the folder and the store say."""
        store, blobs, path = self._made
        self.account = register(store, self.name, self.account.first_job, ["reference"], 1)
        self.sync = FolderSync(store, blobs, self.database, self.account, ["reference"], path / "scratch")
        return self.sync

    def digests(self) -> set[str]:
        return {row.digest for _, row in self.database.programs_after(0)}


@pytest.fixture
def members(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> Callable[[str], Member]:
    return lambda name: Member(store, blobs, tmp_path / name)


def count(store: StoreConnection, table: object) -> int:
    with store.transaction() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()  # pyright: ignore[reportArgumentType]


def test_two_agents_have_the_same_programs_in_the_end(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    a, b = members("a"), members("b")
    add_seed(a.database)
    add_mutants(a.database, [0, 1])
    a.sync.synchronise()
    b.sync.synchronise()
    assert b.digests() == a.digests()
    assert len(b.digests()) == 3
    add_mutants(b.database, [2, 3])
    b.sync.synchronise()
    a.sync.synchronise()
    assert a.digests() == b.digests()
    assert count(store, SHARED_PROGRAM) == 5  # what was taken in is not given again
    before = count(store, FEATURE)
    a.sync.synchronise()
    b.sync.synchronise()
    assert count(store, SHARED_PROGRAM) == 5
    assert count(store, FEATURE) == before > 0
    assert missing_blobs(store, blobs) == set()
    assert a.sync.left() == b.sync.left() == 0


def test_a_program_that_was_taken_in_is_the_one_that_was_given(members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    add_seed(a.database)
    add_mutants(a.database, [0])
    a.sync.synchronise()
    b.sync.synchronise()
    digest = mutants()[0].program.digest
    ours, theirs = a.database.program(digest), b.database.program(digest)
    assert theirs == replace(ours, job=-1)
    assert [e.keys for e in a.database.index.after(0)] == [e.keys for e in b.database.index.after(0)]
    records = taken_after(b.database, 0)
    assert [(r.source, r.sequence) for r in records] == [("a", 1), ("a", 2)]


def test_what_was_taken_in_and_when_is_told(store: StoreConnection, members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    add_seed(a.database)
    a.sync.synchronise()
    b.sync.synchronise()
    add_mutants(b.database, [4])  # job 0 is at iteration 5 then
    add_mutants(a.database, [0])
    a.sync.synchronise()
    b.sync.synchronise()
    b.sync.synchronise()
    with store.transaction() as connection:
        rows = connection.execute(select(INTAKE).where(INTAKE.c.agent == "b").order_by(INTAKE.c.number)).all()
    assert [(r.source, r.sequence, r.progress) for r in rows] == [("a", 1, "{}"), ("a", 2, '{"0": 5}')]


def test_nothing_is_lost_or_doubled_by_kills(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step of both sides fails once, as a kill would leave it, and a new process goes on."""
    a, b = members("a"), members("b")
    add_seed(a.database)
    add_mutants(a.database, [0, 1, 2])
    b.sync.synchronise()
    steps = (
        "irfuzz.fleet.synchronisation.prepare", "irfuzz.fleet.synchronisation.give",
        "irfuzz.fleet.synchronisation.give_findings", "irfuzz.fleet.synchronisation.forget_silent",
        "irfuzz.fleet.synchronisation.features_of", "irfuzz.fleet.program_exchange.take_in",
        "irfuzz.fleet.program_exchange.vectors_of", "irfuzz.fleet.program_exchange.packed_trace",
    )  # fmt: skip
    for step in steps:
        for member in (a, b):
            with monkeypatch.context() as patch:
                patch.setattr(step, _dies)
                with contextlib.suppress(KeyboardInterrupt):
                    member.sync.synchronise()
            member.again()
    a.sync.synchronise()
    b.sync.synchronise()
    assert a.digests() == b.digests()
    assert len(b.digests()) == 4
    assert count(store, SHARED_PROGRAM) == 4
    assert missing_blobs(store, blobs) == set()
    assert len(taken_after(b.database, 0)) == 4


def _dies(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_what_many_agents_have_comes_by_and_by(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    """Few rows of each agent come at once: none is passed over, and vectors end at the last ones."""
    others = [members(name) for name in ("B", "a", "c")]
    for number, member in enumerate(others):
        add_seed(member.database)
        add_mutants(member.database, range(number, number + 3))
        member.sync.synchronise(work=False)
    d = members("d")
    intake = ProgramIntake(store, blobs, d.database, "d")
    turns = 1
    while intake.take(1):
        turns += 1
        assert turns < 20
    assert turns > 3
    assert d.digests() == set[str]().union(*(member.digests() for member in others))
    with store.transaction() as connection:
        rows = connection.execute(select(AGENT.c.name, AGENT.c.sequence).where(AGENT.c.name != "d")).all()
    assert vectors_of(d.database) == {row.name: row.sequence for row in rows}
    assert intake.missing == 0


def test_a_trace_that_left_in_between_is_counted(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = members("a"), members("b")
    add_seed(a.database)
    add_mutants(a.database, [0, 1])
    a.sync.synchronise()
    read = ProgramIntake._traces

    def without_last(intake: ProgramIntake, rows: Sequence[Mapping[str, object]]) -> dict[tuple[str, int], str]:
        found = read(intake, rows)
        return {key: found[key] for key in sorted(found)[:-1]}

    monkeypatch.setattr(ProgramIntake, "_traces", without_last)
    intake = ProgramIntake(store, blobs, b.database, "b")
    while intake.take():
        pass
    assert (intake.taken, intake.missing) == (2, 1)
    assert vectors_of(b.database) == {"a": 3}


def test_what_is_committed_late_is_not_missed(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    """One agent begins to store first and ends last: who has read the other's rows meanwhile still gets its own."""
    if store.file is not None:
        pytest.skip("SQLite has one writer at a time")
    a, b, c = members("a"), members("b"), members("c")
    add_seed(a.database)
    add_seed(b.database)
    add_mutants(a.database, [0])
    add_mutants(b.database, [1])
    given = prepare(own_programs(a.database, 0), 0, a.database.blobs, blobs)
    with store.transaction() as connection:
        give(store, connection, a.account, given, (), features_of(given))  # whose rows b would wait for
        b.sync.synchronise(work=False)
        c.sync.synchronise(work=False)
        assert mutants()[1].program.digest in c.digests()
    c.sync.synchronise(work=False)
    assert mutants()[0].program.digest in c.digests()


def test_what_shows_nothing_new_is_looked_at_and_left(members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    for member in (a, b):
        add_seed(member.database)
        add_mutants(member.database, [0, 1])
    a.sync.synchronise()
    b.sync.synchronise()
    assert taken_after(b.database, 0) == []
    assert b.sync.intake.looked_at == 3
    assert vectors_of(b.database) == {"a": 3}


def test_a_mutant_never_comes_without_its_seed(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    """The seed is another agent's, and stands behind as many rows as are looked at together."""
    a, b, c = members("a"), members("b"), members("c")
    add_seed(b.database, 1)
    b.sync.synchronise()
    a.sync.synchronise()
    add_mutants(a.database, [0], 1)
    a.sync.synchronise()
    intake = ProgramIntake(store, blobs, c.database, "c")
    with store.transaction() as connection:  # b's rows cannot be seen behind its vector
        connection.execute(update(AGENT).where(AGENT.c.name == "b").values(sequence=0))
    while intake.take(most=1):
        pass
    assert c.digests() == {seed(1).digest, mutants(1)[0].program.digest}


def test_seeds_reach_everybody_once(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    assert give_seeds(store, blobs, [("a.onnx", seed(0)), ("b.onnx", seed(1))]) == 2
    assert give_seeds(store, blobs, [("c.onnx", seed(1))]) == 0
    a = members("a")
    a.sync.synchronise()
    assert a.digests() == {seed(0).digest, seed(1).digest}
    assert [row.parent for _, row in a.database.programs_after(0)] == ["", ""]
    assert len(a.database.index.unknown()) == 2  # a job finds out what they show
    a.sync.synchronise()
    assert count(store, SHARED_PROGRAM) == 2


def test_every_program_replays_from_its_row(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    a = members("a")
    add_seed(a.database)
    add_mutants(a.database, range(6))
    a.sync.synchronise()
    assert replay_program(store, blobs, "a", 1) == seed().to_bytes()
    for place, mutant in enumerate(mutants()):
        assert replay_program(store, blobs, "a", 2 + place) == mutant.program.to_bytes()
    with pytest.raises(UsageError, match="agent a has given no program 8"):
        replay_program(store, blobs, "a", 8)
    with store.transaction() as connection:
        other = connection.execute(select(SHARED_PROGRAM.c.trace).where(SHARED_PROGRAM.c.sequence == 3)).scalar_one()
        connection.execute(update(SHARED_PROGRAM).where(SHARED_PROGRAM.c.sequence == 2).values(trace=other))
    with pytest.raises(InvalidProgram):
        replay_program(store, blobs, "a", 2)


def test_a_blob_that_is_gone_costs_one_program(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    a, b = members("a"), members("b")
    add_seed(a.database)
    add_mutants(a.database, [0, 1])
    a.sync.synchronise()
    with store.transaction() as connection:
        blobs.remove(
            connection.execute(select(SHARED_PROGRAM.c.blob).where(SHARED_PROGRAM.c.sequence == 2)).scalar_one()
        )
    b.sync.synchronise()
    assert b.digests() == {seed().digest, mutants()[1].program.digest}
    assert b.sync.intake.missing == 1


@pytest.mark.parametrize("many", [BATCH, BATCH + 1])
def test_more_than_a_batch_goes_at_once(store: StoreConnection, members: Callable[[str], Member], many: int) -> None:
    from irfuzz.store.database import ProgramRow

    a = members("a")
    rows = [
        ProgramRow(f"d{n}", b"model", "s", "p", "{}", 1, 0, n, nodes=1, cost=1, keys=n.to_bytes(8, "little"))
        for n in range(many)
    ]
    a.database.record(0, many, many, {}, rows)
    a.sync.synchronise()
    assert count(store, SHARED_PROGRAM) == many
    assert count(store, FEATURE) == many
