"""Makes any program of a fleet again from its row, and holds it against the bytes that its agent stored."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, select

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.fleet.fleet_schema import SHARED_PROGRAM
from irfuzz.fleet.program_exchange import trace_text_of
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_trace import Trace, rebuild, sha256
from irfuzz.mutate.mutator_table import is_steered
from irfuzz.store.model_blob_packing import is_packed
from irfuzz.store.model_compression import expanded
from irfuzz.store.stored_program_encoding import StoredPrograms


def replay_program(store: StoreConnection, blobs: SharedBlobs, agent: str, sequence: int) -> bytes:
    """The model of a program, byte for byte what its agent had made: as its row has it, and by its edits from its seed.

    Edits that aimed at what the campaign had not covered yet (``is_steered``) are not made again.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        agent: that made it.
        sequence: its number there.

    Raises:
        UsageError: there is no such program.
        InvalidProgram: the stored bytes are other ones, or its edits make another program, as those of another version
            of irfuzz may.
    """
    key = (SHARED_PROGRAM.c.agent == agent) & (SHARED_PROGRAM.c.sequence == sequence)
    with store.transaction() as connection:
        row = connection.execute(select(SHARED_PROGRAM).where(key)).one_or_none()
    if row is None:
        raise UsageError(f"{store.name}: agent {agent} has given no program {sequence}")
    seeds, trace, data = StoredSeeds(store, blobs), Trace.from_text(trace_text_of(row.trace)), blobs.get(row.blob)
    again = None if is_steered(trace.edits) else rebuild(trace, seeds.program)
    if not is_packed(data):
        made = expanded(data, seeds.stored)
    else:
        made = StoredPrograms(blobs).read(data, lambda: _remade(again, f"program {sequence} of {agent}")).to_bytes()
    for found in (made, again):
        if found is not None and sha256(found) != trace.sha256:
            raise InvalidProgram(f"program {sequence} of {agent}: expected {trace.sha256}, got {sha256(found)}")
    return made


def _remade(again: bytes | None, what: str) -> Program:
    """A program whose weights were left to its edits.

    Raises:
        InvalidProgram: they are not made again.
    """
    if again is None:
        raise InvalidProgram(f"{what}: its large weights are not stored, and its edits aimed at what was not covered")
    return Program.from_bytes(again)


class StoredSeeds:
    """Seeds of a fleet by their digests.

    Args:
        store: of the fleet.
        blobs: of the fleet.
    """

    def __init__(self, store: StoreConnection, blobs: SharedBlobs) -> None:
        self._store, self._blobs = store, blobs
        self._small = {program.digest: program for program in sprouts().values()}

    def stored(self, digest: str) -> bytes:
        """The stored bytes of a seed.

        Raises:
            InvalidProgram: no agent has given it.
        """
        query = select(SHARED_PROGRAM.c.blob).where(SHARED_PROGRAM.c.digest == digest)
        with self._store.transaction() as connection:
            blob = connection.execute(query.limit(1)).scalar_one_or_none()
        if blob is None:
            raise InvalidProgram(f"{self._store.name}: no agent has given the seed {digest}")
        return self._blobs.get(blob)

    def made(self, row: Row[Any]) -> Program:
        """The program of a row of the store.

        Args:
            row: all of it.

        Raises:
            InvalidProgram: its seed or large weights are gone.
            InternalError: a blob is gone.
        """

        def again() -> Program:
            return Program.from_bytes(rebuild(Trace.from_text(trace_text_of(row.trace)), self.program))

        return StoredPrograms(self._blobs).read(self._blobs.get(row.blob), again, self.stored)

    def program(self, digest: str) -> Program:
        """A seed, or a program of one node."""
        if digest in self._small:
            return self._small[digest]

        def lost() -> Program:
            raise InvalidProgram(f"{self._store.name}: large weights of the seed {digest} are gone")

        return StoredPrograms(self._blobs).read(self.stored(digest), lost, self.stored)
