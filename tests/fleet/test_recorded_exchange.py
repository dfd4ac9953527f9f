"""The same recorded exchange read by SQLite and by PostgreSQL gives the same findings and the same programs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import irfuzz
from irfuzz.errors import InvalidProgram
from irfuzz.fleet.finding_exchange import shared_findings, with_bytes
from irfuzz.fleet.fleet_schema import (
    AGENT,
    FEATURE,
    FINDING_LABEL,
    FLEET_METADATA,
    INTAKE,
    SHARED_FINDING,
    SHARED_PROGRAM,
    SIGHTING,
)
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.program_replay import replay_program
from irfuzz.fleet.reporting.finding_labels import label_finding
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.mutate.mutation_trace import Trace, parse_trace
from irfuzz.store.database import Database, ProgramRow, Status
from tests.fleet.made import add_mutants, add_seed, finding, keys_of, mutants
from tests.fleet.test_program_exchange import Member

pytestmark = pytest.mark.unit

STEPS = 60
AGENTS = ("a", "b", "c")
CHANCES = {
    "mutant": 2, "finding": 4, "seen again": 1, "proven": 1, "explained": 0.5, "label": 1, "kill": 1, "sync": 3
}  # fmt: skip
"""What happens in a step, and how often."""

TIMES = {"first", "last", "added", "started", "heartbeat", "changed", "until"}
"""Columns that hang on when a test runs."""
OWN = {"incarnation", "rate", "sync_seconds", "sync_cpu", "syncs"}
"""Columns of an agent that hang on its process."""


@pytest.fixture
def both(postgres: Any, tmp_path: Path) -> Iterator[tuple[StoreConnection, StoreConnection]]:
    """A store in SQLite and one in PostgreSQL, both empty."""
    one = StoreConnection(f"sqlite:///{tmp_path}/fleet.sqlite", make=True)
    two = StoreConnection(postgres.database(), make=True)
    yield one, two
    one.close()
    two.close()


def rows_of(store: StoreConnection, table: Any) -> list[dict[str, Any]]:
    """All rows of a table but for times, in the order of their keys."""
    left_out = TIMES | OWN
    with store.transaction() as connection:
        found = [dict(row) for row in connection.execute(select(table)).mappings()]
    found = [{k: v for k, v in row.items() if k not in left_out} for row in found]
    return sorted(found, key=lambda row: json.dumps(row, default=repr, sort_keys=True))


def play(store: StoreConnection, blobs: SharedBlobs, path: Path, seed: int = 5) -> dict[str, Member]:
    """A drawn exchange between three agents: programs, findings that change, labels, kills, in any order."""
    dice = random.Random(seed)
    members = {name: Member(store, blobs, path / name) for name in AGENTS}
    for member in members.values():
        add_seed(member.database)
    for step in range(STEPS):
        member = members[dice.choice(AGENTS)]
        what = dice.choices(list(CHANCES), list(CHANCES.values()))[0]
        act(what, member, dice, step, store)
    for _ in range(2):
        for member in members.values():
            member.sync.synchronise(work=False)
    return members


def act(what: str, member: Member, dice: random.Random, step: int, store: StoreConnection) -> None:
    rows = member.database.findings()
    if what == "mutant":
        add_mutants(member.database, [dice.randrange(6)])
    elif what == "finding":
        status = dice.choice((Status.CONFIRMED, Status.UNREPLAYED))
        member.database.add_finding(finding(f"s{dice.randrange(8)}", status=status, suspect=dice.random() < 0.3))
    elif what == "seen again" and rows:
        member.database.count_again(dice.choice(rows).signature)
    elif what in ("proven", "explained") and rows:
        status = Status.CONFIRMED if what == "proven" else Status.EXPLAINED
        row = dice.choice(rows)
        member.database.replace_finding(replace(row, suspect=False, status=status, title=f"changed in step {step}"))
    elif what == "label":
        known = sorted(row.signature for row in shared_findings(store))
        if known:
            label_finding(store, dice.choice(known), f"label {step}")
    elif what == "kill":
        member.again()
    elif what == "sync":
        member.sync.synchronise(work=False)


def told(store: StoreConnection) -> list[tuple[Any, ...]]:
    return [
        (f.signature, f.title, f.status, f.suspect, sorted(f.agents), f.times, f.label)
        for f in sorted(fleet_status(store).findings, key=lambda f: f.signature)
    ]


def test_both_databases_make_the_same_of_an_exchange(
    both: tuple[StoreConnection, StoreConnection], blobs: SharedBlobs, tmp_path: Path
) -> None:
    folders = [play(store, blobs, tmp_path / place) for store, place in zip(both, ("one", "two"), strict=True)]
    for table in (SHARED_FINDING, SIGHTING, SHARED_PROGRAM, FEATURE, INTAKE, AGENT, FINDING_LABEL):
        one, two = (rows_of(store, table) for store in both)
        assert one == two, table.name
        assert one, f"nothing happened to {table.name}"
    assert told(both[0]) == told(both[1])
    for name in AGENTS:
        one, two = (members[name].database.programs_after(0) for members in folders)
        assert [row.digest for _, row in one] == [row.digest for _, row in two]
    for row in rows_of(both[0], SHARED_PROGRAM):
        one, two = (replay_program(store, blobs, row["agent"], row["sequence"]) for store in both)
        assert one == two


@pytest.mark.parametrize("direction", [1, -1])
def test_rows_of_one_database_are_read_by_the_other(
    both: tuple[StoreConnection, StoreConnection], blobs: SharedBlobs, tmp_path: Path, direction: int
) -> None:
    """A store that moves to the other database: findings, and what a new agent takes in, are as before."""
    source, target = both[::direction]
    play(source, blobs, tmp_path / "played", seed=11)
    for table in FLEET_METADATA.sorted_tables:
        with source.transaction() as connection:
            rows = [dict(row) for row in connection.execute(select(table)).mappings()]
        with target.transaction() as connection:
            connection.execute(table.delete())
            if rows:
                connection.execute(table.insert(), rows)
    assert told(source) == told(target) != []
    cases = [[(r.signature, with_bytes(r, blobs).model) for r in shared_findings(store)] for store in both]
    assert cases[0] == cases[1]
    news = []
    for store, name in ((source, "source"), (target, "target")):
        new = Member(store, blobs, tmp_path / name / "new")
        while new.sync.intake.take():
            pass
        news.append([(row.digest, row.model, row.trace, row.keys) for _, row in new.database.programs_after(0)])
    assert news[0] == news[1] != []


def large() -> irfuzz.Program:
    """A model with weights that are stored apart."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    weights = [numpy_helper.from_array(np.full((256, 256), 0.01, np.float32), f"w{n}") for n in range(10)]
    nodes = [helper.make_node("MatMul", [f"v{n}", f"w{n}"], [f"v{n + 1}"]) for n in range(10)]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 256])] for name in ("v0", "v10")]
    graph = helper.make_graph(nodes, "large", *ends, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return irfuzz.load(model)


def given(database: Database, program: irfuzz.Program, drawn: list[irfuzz.TracedMutant]) -> None:
    """A seed and its mutants, as a campaign stores them."""
    text = Trace.of_seed(program, "s").to_text()
    stored = database.programs.seed(program)
    rows = [ProgramRow(program.digest, stored, "s", "", text, 0, -1, 0, nodes=1, cost=1, keys=keys_of(program))]
    for place, mutant in enumerate(drawn):
        model = database.programs.mutant(mutant.program)
        rows.append(
            ProgramRow(
                mutant.program.digest, model, "s", program.digest, parse_trace(mutant.trace).to_text(), 1, 0, place,
                nodes=1, cost=1, keys=keys_of(mutant.program),
            )
        )  # fmt: skip
    database.record(0, 1, 1, {}, rows)


def test_a_drawn_sample_of_programs_replays(
    store: StoreConnection, blobs: SharedBlobs, tmp_path: Path, members: Callable[[str], Member]
) -> None:
    """Mutants of a large model, of which the store has what their seed does not, and edits make the rest."""
    member = members("a")
    drawn = {m.program.digest: m for m in irfuzz.mutate([large()], seed=3, n=12)}
    given(member.database, large(), list(drawn.values()))
    member.sync.synchronise(work=False)
    with store.transaction() as connection:
        rows = connection.execute(select(SHARED_PROGRAM).where(SHARED_PROGRAM.c.parent != "")).all()
    assert any(row.size * 10 < len(drawn[row.digest].program.to_bytes()) for row in rows)  # without its weights
    for row in rows:
        assert replay_program(store, blobs, "a", row.sequence) == drawn[row.digest].program.to_bytes()
    assert len(rows) >= 8


@pytest.fixture
def members(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> Callable[[str], Member]:
    return lambda name: Member(store, blobs, tmp_path / name)


def test_a_seed_that_is_gone_is_told(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    member = members("a")
    add_seed(member.database)
    add_mutants(member.database, [0])
    member.sync.synchronise(work=False)
    with store.transaction() as connection:
        connection.execute(SHARED_PROGRAM.delete().where(SHARED_PROGRAM.c.sequence == 1))
    with pytest.raises(InvalidProgram, match="no agent has given the seed"):
        replay_program(store, blobs, "a", 2)
    assert len(mutants()) > 1
