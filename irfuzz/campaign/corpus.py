"""Programs worth mutating: rows of the database enter, weighted choices of a parent leave."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from irfuzz.campaign import lineage
from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.trace import Origin, Trace
from irfuzz.store.database import Database, ProgramRow

DECODED = 128
"""How many programs are kept decoded."""


@dataclass(slots=True)
class Entry:
    """A program of the corpus and how often it was chosen."""

    row: ProgramRow
    nodes: int
    picked: int = 0

    def weight(self) -> float:
        """Little-used programs that brought much, and small ones, come first."""
        return (1.0 + min(self.row.features, 50)) / ((1.0 + self.picked) * (1.0 + self.nodes / 30.0))


class Corpus:
    """One job's view of the programs in the database.

    Also the ``Donors`` of splices: these are the seeds, which every job has and no job changes.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._number = 0
        self._entries: list[Entry] = []
        self._seeds: dict[str, Entry] = {}
        self._decoded: OrderedDict[str, Program] = OrderedDict()

    def refresh(self) -> list[Program]:
        """Take in what was added since the last call, by any job; returns the new programs."""
        new: list[Program] = []
        for number, row in self._database.programs_after(self._number):
            self._number = number
            program = Program.from_bytes(row.model)
            entry = Entry(row, len(program.nodes()))
            self._entries.append(entry)
            if not row.parent:
                self._seeds[row.digest] = entry
            self._keep(row.digest, program)
            new.append(program)
        return new

    def __len__(self) -> int:
        return len(self._entries)

    def pick(self, choices: Choices) -> Entry:
        """A parent for the next mutant."""
        entry = choices.weighted(self._entries, [e.weight() for e in self._entries])
        entry.picked += 1
        return entry

    @property
    def seed_count(self) -> int:
        """How many of the programs are seeds."""
        return len(self._seeds)

    def seed(self, index: int) -> Entry:
        """A seed by its place."""
        return list(self._seeds.values())[index]

    def program(self, entry: Entry) -> Program:
        """The entry's program; shared, so clone it before editing."""
        return self._load(entry.row)

    def trace(self, entry: Entry) -> Trace:
        """How the entry was made."""
        return lineage.load(entry.row.trace)

    def donors(self) -> tuple[Origin, ...]:
        """The seeds, in the order in which splices see them."""
        return tuple(self.trace(entry).seed for entry in self._seeds.values())

    def digests(self) -> Sequence[str]:
        """Donors by digest, in the order in which the seeds were added."""
        return tuple(self._seeds)

    def get(self, digest: str) -> Program:
        """A private copy of a donor."""
        return self._load(self._seeds[digest].row).clone()

    def _load(self, row: ProgramRow) -> Program:
        program = self._decoded.get(row.digest)
        if program is None:
            program = Program.from_bytes(row.model)
            self._keep(row.digest, program)
        else:
            self._decoded.move_to_end(row.digest)
        return program

    def _keep(self, digest: str, program: Program) -> None:
        self._decoded[digest] = program
        while len(self._decoded) > DECODED:
            self._decoded.popitem(last=False)
