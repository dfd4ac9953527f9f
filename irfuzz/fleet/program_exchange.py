"""Gives an agent's programs to the others and takes theirs, by vectors of (agent, sequence)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select, true, tuple_, update

from irfuzz.campaign.corpus.feature_holders import FeatureHolders
from irfuzz.campaign.corpus.known_programs import claim_of, entries_after
from irfuzz.errors import InternalError, UsageError
from irfuzz.fleet.agent_registry import SEEDS, AgentAccount, AgentState
from irfuzz.fleet.fleet_schema import AGENT, FEATURE, INTAKE, SHARED_PROGRAM, store_time
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import EXTRA, StoreConnection, array_of
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_trace import Trace
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.database import Database, ProgramRow
from irfuzz.store.model_blob_packing import blobs_named, is_packed, unpacked
from irfuzz.store.stored_program_encoding import StoredPrograms
from irfuzz.store.taken_programs import TakenProgram, TakenRecord, take_in, vectors_of

BATCH = 200
"""Programs that are given or looked at in one transaction."""

_NEWS = [c for c in SHARED_PROGRAM.c if c.name not in ("trace", "dropped")]
"""Columns that are read of every new program, before it is known whether it is taken in."""

_FIELDS = ("digest", "seed", "parent", "iteration", "features", "nodes", "cost", "keys")
"""Columns that a program has here and in a campaign's database alike; its job is counted from the agent's first."""


@dataclass(frozen=True, slots=True)
class GivenProgram:
    """A program whose bytes are in the blobs already.

    Attributes:
        sequence: its number in the agent's folder.
        values: of its row, but for the agent and the time.
    """

    sequence: int
    values: Mapping[str, Any]


def packed_trace(text: str) -> bytes:
    """A trace as a row of the store has it.

    Args:
        text: JSON.

    Raises:
        UsageError: a package is missing.
    """
    try:
        import zstandard
    except ModuleNotFoundError as error:
        raise UsageError(f"a fleet needs {error.name}; {EXTRA}") from None
    return zstandard.ZstdCompressor(level=3, write_content_size=True).compress(text.encode())


def trace_text_of(data: bytes) -> str:
    """The inverse of ``packed_trace``."""
    import zstandard

    return zstandard.ZstdDecompressor().decompress(data).decode()


def prepare(
    programs: Iterable[tuple[int, ProgramRow]], first_job: int, weights: FolderBlobs, blobs: SharedBlobs
) -> list[GivenProgram]:
    """Put the bytes of an agent's programs into the blobs; their rows come later, so that no row names a missing blob.

    Args:
        programs: with their numbers in the agent's folder.
        first_job: number of the agent's first job among all of the fleet.
        weights: the agent's own blobs.
        blobs: of the fleet.

    Raises:
        StoreUnreachable: the blobs are away.
    """
    found: list[GivenProgram] = []
    for number, row in programs:
        named = [d for d in blobs_named(unpacked(row.model)) if weights.has(d)] if is_packed(row.model) else []
        for digest in named:
            if blobs.put(weights.map(digest)) != digest:
                raise InternalError(f"{weights.path(digest)}: the file has other bytes than its name says")
        values = {name: getattr(row, name) for name in _FIELDS}
        values |= {
            "job": -1 if row.job < 0 else first_job + row.job, "blob": blobs.put(row.model), "size": len(row.model),
            "weights": json.dumps(named), "trace": packed_trace(row.trace),
        }  # fmt: skip
        found.append(GivenProgram(number, values))
    return found


def give(
    store: StoreConnection, connection: Connection, account: AgentAccount,
    programs: Sequence[GivenProgram], taken: Sequence[TakenRecord], known: set[int],
) -> None:  # fmt: skip
    """Store rows of programs and of what was taken in, as a part of a transaction; again is as good as once.

    Args:
        store: of the fleet.
        connection: of the transaction, in which ``beat`` has taken the agent's row.
        account: of the agent.
        programs: in the order of their numbers.
        taken: in the order of theirs.
        known: features that are in the store for sure, which are left out; those of ``programs`` are to be added once
            the transaction is through.
    """
    name = account.name
    if programs:
        now = float(connection.execute(select(store_time())).scalar_one())
        rows = [{"agent": name, "sequence": p.sequence, **p.values, "added": now} for p in programs]
        store.insert_new(connection, SHARED_PROGRAM, rows)
        keys = sorted(features_of(programs) - known)  # sorted: two agents never wait for each other in a circle
        store.insert_new(connection, FEATURE, [{"key": key, "agent": name, "added": now} for key in keys])
        last = {"sequence": programs[-1].sequence}
        connection.execute(update(AGENT).where(AGENT.c.name == name).values(**last))
    if taken:
        intake = [
            {
                "agent": name, "number": t.number, "source": t.source, "sequence": t.sequence,
                "progress": json.dumps(dict(t.progress)),
            }
            for t in taken
        ]  # fmt: skip
        store.insert_new(connection, INTAKE, intake)
        connection.execute(update(AGENT).where(AGENT.c.name == name).values(taken=taken[-1].number))


def features_of(programs: Iterable[GivenProgram]) -> set[int]:
    """Features that programs brought, as the signed numbers that the store has."""
    found: set[int] = set()
    for program in programs:
        found.update(np.frombuffer(bytes(program.values["keys"]), np.int64).tolist())
    return found


def give_seeds(store: StoreConnection, blobs: SharedBlobs, seeds: Sequence[tuple[str, Program]]) -> int:
    """Let every agent take in seeds; how many were new.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        seeds: each with the name of its file, with what is said of their inputs in their metadata.

    Raises:
        UsageError: the store or the blobs cannot be used.
    """
    programs = StoredPrograms(blobs)
    rows: list[ProgramRow] = []
    for name, program in seeds:
        trace = Trace.of_seed(program, name).to_text()
        rows.append(ProgramRow(program.digest, programs.seed(program), name, "", trace, 0, -1, 0))
    new = 0
    with store.transaction() as connection:
        begin: dict[str, object] = dict.fromkeys(
            ("first_job", "jobs", "sequence", "taken", "programs", "corpus", "syncs"), 0
        )
        begin |= dict.fromkeys(("rate", "started", "heartbeat", "sync_seconds", "sync_cpu"), 0.0)
        begin |= {"incarnation": "", "machine": "", "targets": "[]", "wanted": "", "counts": "{}"}
        statement = store.insert(AGENT).values(name=SEEDS, state=AgentState.ENDED.value, **begin)
        connection.execute(statement.on_conflict_do_nothing())
        query = select(AGENT.c.sequence).where(AGENT.c.name == SEEDS).with_for_update()
        sequence = connection.execute(query).scalar_one()
        for row in rows:
            there = select(func.count()).select_from(SHARED_PROGRAM).where(SHARED_PROGRAM.c.digest == row.digest)
            if connection.execute(there).scalar_one():
                continue
            named = blobs_named(unpacked(row.model)) if is_packed(row.model) else []
            sequence, new = sequence + 1, new + 1
            values = {name: getattr(row, name) for name in _FIELDS}
            values |= {
                "job": -1, "blob": blobs.put(row.model), "size": len(row.model), "weights": json.dumps(named),
                "trace": packed_trace(row.trace),
            }  # fmt: skip
            connection.execute(
                SHARED_PROGRAM.insert().values(agent=SEEDS, sequence=sequence, added=store_time(), **values)
            )
        connection.execute(update(AGENT).where(AGENT.c.name == SEEDS).values(sequence=sequence))
    return new


class ProgramIntake:
    """Takes programs of other agents into a campaign's folder that show what it does not know.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        database: of the campaign, which may be running.
        name: of the agent itself.

    Attributes:
        looked_at: programs of others so far.
        taken: those of them that were taken in.
        missing: those that could not be, since a blob or the seed of theirs is gone.
    """

    def __init__(self, store: StoreConnection, blobs: SharedBlobs, database: Database, name: str) -> None:
        self._store, self._blobs, self._database, self._name = store, blobs, database, name
        self._holders = FeatureHolders()
        self._number = 0
        self._seeds: set[str] = set()
        self._many_seeds = 0
        self.looked_at = self.taken = self.missing = 0

    def take(self, most: int = BATCH) -> bool:
        """Look at the next programs of each other agent; False if there is no more to look at.

        Args:
            most: of each agent.

        Raises:
            StoreUnreachable: the store or the blobs are away; nothing was taken then.
        """
        self._see_own()
        vectors = vectors_of(self._database)
        before = dict(vectors)
        found, early, more = self._news(vectors, most)
        if not found and not early and vectors == before:
            return False
        chosen = self._chosen(found, early)
        self._holders.forget_reserved()
        programs = self._read(chosen)
        self.taken += take_in(self._database, programs, vectors)
        self.looked_at += len(found)
        self._seeds.update(p.row.digest for p in programs if not p.row.parent)
        return more

    def _see_own(self) -> None:
        """Know what the campaign's own corpus shows by now."""
        entries = entries_after(self._database, self._number)
        if entries:
            self._number = entries[-1].number
            self._holders.take(list(map(claim_of, entries)))
            self._seeds.update(entry.digest for entry in entries if entry.original)

    def _news(self, vectors: dict[str, int], most: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]], bool]:
        """Rows behind the vectors without their traces, seeds further on, and whether there are more rows.

        Vectors are set to their ends. What the distillation has dropped is passed over, or was removed.
        """
        found: list[dict[str, Any]] = []
        more = False
        with self._store.transaction() as connection:
            agents = connection.execute(select(AGENT.c.name, AGENT.c.sequence).where(AGENT.c.name != self._name)).all()
            behind = {name: vectors.get(name, 0) for name, last in agents if last > vectors.get(name, 0)}
            rows = _rows_after(self._store, connection, behind, most)
            for agent, sequence in sorted(agents):
                if agent in behind:
                    own = rows.get(agent, [])
                    found += own
                    more = more or len(own) == most
                    # Up to the agent's own number all of its rows are committed: they came with it.
                    last = int(own[-1]["sequence"]) if own else 0
                    vectors[agent] = last if len(own) == most else max(last, sequence)
            # A mutant may come before the seed, which another agent was given.
            are_seeds = SHARED_PROGRAM.c.parent == ""
            many = connection.execute(select(func.count()).select_from(SHARED_PROGRAM).where(are_seeds)).scalar_one()
            look = many != self._many_seeds
            seeds = connection.execute(select(*_NEWS).where(are_seeds)).mappings().all() if look else []
        self._many_seeds = many
        here = {(row["agent"], row["sequence"]) for row in found}
        wanted = [dict(row) for row in seeds if row["digest"] not in self._seeds]
        others = [row for row in wanted if row["agent"] != self._name]
        return found, [row for row in others if (row["agent"], row["sequence"]) not in here], more

    def _chosen(self, found: Sequence[dict[str, Any]], early: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Seeds that are not known, and programs that bring what nobody here holds or only dearer ones."""
        chosen: dict[str, dict[str, Any]] = {}
        for row in (*early, *found):
            if not row["parent"] and row["digest"] not in self._seeds:
                chosen[row["digest"]] = row
        for row in found:
            if row["parent"]:
                cost = int(row["cost"])
                news = self._holders.news(np.frombuffer(bytes(row["keys"]), np.uint64), cost)
                if len(news):
                    self._holders.reserve(news, cost)
                    chosen.setdefault(row["digest"], row)
        return list(chosen.values())

    def _read(self, rows: Sequence[Mapping[str, Any]]) -> list[TakenProgram]:
        """Programs with their bytes, in the order of their rows; what cannot be used here is left out, and counted."""
        found: list[TakenProgram] = []
        traces = self._traces(rows)
        for row in rows:
            text = traces.get((row["agent"], row["sequence"]))
            model = None if text is None else self._model(row)
            if model is None or text is None or (row["parent"] and not self._can_stand(text)):
                self.missing += 1
                continue
            if not row["parent"]:
                self._seeds.add(row["digest"])
            values = {name: row[name] for name in _FIELDS}
            stored = ProgramRow(**values, model=model, trace=text, job=-1)
            found.append(TakenProgram(row["agent"], row["sequence"], stored))
        return found

    def _traces(self, rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], str]:
        """The trace of each row by agent and number; a distillation may have removed one meanwhile."""
        c = SHARED_PROGRAM.c
        found: dict[tuple[str, int], str] = {}
        for begin in range(0, len(rows), BATCH):
            keys = [(row["agent"], row["sequence"]) for row in rows[begin : begin + BATCH]]
            query = select(c.agent, c.sequence, c.trace).where(tuple_(c.agent, c.sequence).in_(keys))
            with self._store.transaction() as connection:
                found |= {(agent, n): trace_text_of(data) for agent, n, data in connection.execute(query)}
        return found

    def _model(self, row: Mapping[str, Any]) -> bytes | None:
        """The stored model of a program, whose weights are in the folder then; ``None`` if a blob is gone."""
        try:
            model = self._blobs.get(row["blob"])
            for digest in json.loads(row["weights"]):
                if not self._database.blobs.has(digest):
                    self._database.blobs.put(self._blobs.map(digest))
        except InternalError:
            return None
        return model

    def _can_stand(self, text: str) -> bool:
        """Whether the seed of a mutant, and those that it took parts from, are here."""
        trace = Trace.from_text(text)
        return all(o.digest in self._seeds or o.digest in _small() for o in (trace.seed, *trace.donors))


@cache
def _small() -> frozenset[str]:
    """Digests of the programs of one node, which are in no database."""
    return frozenset(program.digest for program in sprouts().values())


def _rows_after(
    store: StoreConnection, connection: Connection, vectors: Mapping[str, int], most: int
) -> dict[str, list[dict[str, Any]]]:
    """Programs of agents behind a number each, by agent, in their order; PostgreSQL is asked once for all agents.

    Args:
        store: of the fleet.
        connection: of a transaction.
        vectors: numbers by the name of the agent.
        most: rows of each agent.
    """
    c, found = SHARED_PROGRAM.c, dict[str, list[dict[str, Any]]]()
    query = select(*_NEWS).where(c.dropped == 0).order_by(c.sequence).limit(most)
    if store.file is not None:
        for agent, number in vectors.items():
            rows = connection.execute(query.where(c.agent == agent, c.sequence > number)).mappings()
            found[agent] = [dict(row) for row in rows]
        return found
    if not vectors:
        return found
    arrays = (array_of("all_agents", c.agent), array_of("all_numbers", c.sequence))
    behind = func.unnest(*arrays).table_valued("agent", "number", name="behind").render_derived()
    each = query.where(c.agent == behind.c.agent, c.sequence > behind.c.number).lateral("news")
    values = {"all_agents": list(vectors), "all_numbers": list(vectors.values())}
    for row in connection.execute(select(each).select_from(behind.join(each, true())), values).mappings():
        found.setdefault(row["agent"], []).append(dict(row))
    return {agent: sorted(rows, key=lambda row: row["sequence"]) for agent, rows in found.items()}
