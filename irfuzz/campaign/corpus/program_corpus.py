"""Programs worth mutating, from rows of the database, and weighted choices of a parent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.execute.adapters.mapped_weights import mapped_bytes
from irfuzz.execute.large_model_limits import weight_bytes
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.mutate.mutation_engine import replay
from irfuzz.mutate.mutation_trace import FixedDonors, Trace
from irfuzz.mutate.mutator_table import is_steered
from irfuzz.search.strategies.strategy_protocol import Search
from irfuzz.search.strategies.weighted import Weighted
from irfuzz.spec import load_specs
from irfuzz.store.database import Database, ProgramRow
from irfuzz.store.model_blob_packing import is_packed

DECODED = 96 << 20
"""Programs are kept decoded up to so many bytes: to decode one again takes as long as to mutate it."""

NODE = 4096
"""Bytes that a decoded program takes for each node, roughly, beside those of its model."""

ROOM = 30
"""Mutants of a seed that is larger than others may get so many nodes more than it has."""

CROWD = 500
"""For every so many programs in the corpus a new one must bring one more new feature."""


class Corpus:
    """One job's view of the programs in the database.

    Also the ``Donors`` of splices: these are the seeds, which every job has and no job changes.

    Args:
        database: of the campaign.
        share: how often a parent is one of ``generate.one_node_programs.sprouts``, which are no seeds and are in no
            database.
    """

    def __init__(self, database: Database, share: float = 0.0) -> None:
        self._database = database
        self._programs = database.programs
        self._share = share
        self._sprouts = {p.digest: CorpusEntry(p.digest, n, 0, 1) for n, p in (sprouts() if share else {}).items()}
        self._small: tuple[CorpusEntry, ...] = ()
        self.limit(NEWEST)
        self._weighted = Weighted(())
        self._number = 0
        self._picked: Sequence[int] = ()
        self._entries: list[CorpusEntry] = []
        self._new: list[ProgramRow] = []
        self._seeds: dict[str, CorpusEntry] = {}
        self._sizes: dict[str, int] = {}
        self._donors: tuple[Trace, ...] = ()
        self._decoded: OrderedDict[str, tuple[Program, int]] = OrderedDict()
        self._held = 0

    def limit(self, newest: int) -> None:
        """Let no parent of one node be of a newer opset.

        Args:
            newest: version of ONNX's default domain. Programs of the database are not affected.
        """
        known = frozenset(sprouts_up_to(newest)) if self._sprouts else frozenset[str]()
        self._small = tuple(entry for entry in self._sprouts.values() if entry.seed in known)

    def refresh(self) -> Iterator[Program]:
        """Take in what was added since the last call, by any job; gives the new programs one by one.

        A program without a parent becomes a seed, and so a donor. It is a generator: what is not taken from it is not
        taken in.

        Raises:
            InvalidProgram: the edits of a mutant with large weights make another program now, as those of another
                version of irfuzz may.
        """
        while rows := self._database.programs_after(self._number):
            for number, row in rows:
                self._number = number
                program = self._read(row)
                entry = CorpusEntry(row.digest, row.seed, row.features, len(program.nodes()))
                if len(self._entries) < len(self._picked):
                    entry.picked = self._picked[len(self._entries)]
                self._entries.append(entry)
                if not row.parent:
                    self._seeds[row.digest] = entry
                    self._sizes[entry.seed] = entry.nodes
                self._keep(row.digest, program, _room(row, program))
                yield program

    def add(self, testcase: Testcase) -> bool:
        """Have a program that shows something new stored; False if it could not be made again.

        ``refresh`` gives it once it was stored: by ``Database.record``, with all others that ``take_new`` gives.
        """
        trace, model = self.trace_of(testcase), testcase.whole
        if is_packed(model):
            model = self._programs.mutant(testcase.program)
            if not self._programs.is_whole(model) and is_steered(trace.edits):
                return False  # nothing would make its large weights again
        entry, text = testcase.entry, trace.to_text()
        self._new.append(
            ProgramRow(
                testcase.program.digest, model, entry.seed, entry.digest, text, testcase.features, testcase.job,
                testcase.iteration,
            )
        )  # fmt: skip
        return True

    def take_new(self) -> list[ProgramRow]:
        """What was added since the last call."""
        new, self._new = self._new, []
        return new

    def __len__(self) -> int:
        return len(self._entries)

    def pick(self, choices: Choices, search: Search | None = None) -> CorpusEntry:
        """A parent for the next mutant, as a search chooses (by default ``Weighted``).

        Args:
            choices: of the iteration.
            search: if it takes programs of one node, these are drawn first, as often as ``share`` says.

        Returns:
            An entry; ``program`` gives what it stands for.
        """
        search = search or self._weighted
        if self._share and search.sprouts and choices.boolean(self._share):
            return choices.pick(self._small)
        return search.choose(self._entries, choices)

    def most_nodes(self, entry: CorpusEntry, usual: int) -> int:
        """How many nodes a mutant may have: as many as usual, or some more than the seed that it comes from."""
        size = self._sizes.get(entry.seed, 0)
        return usual if size < usual else size + ROOM

    def picked(self) -> list[int]:
        """How often each program was a parent, in the order in which they came."""
        return [entry.picked for entry in self._entries]

    def recall(self, picked: Sequence[int]) -> None:
        """Count what ``refresh`` has yet to take in as used so often; the order is the same in every run."""
        self._picked = tuple(picked)

    def bar(self) -> int:
        """How many new features a program must bring to be taken in."""
        return 1 + len(self._entries) // CROWD

    @property
    def seed_count(self) -> int:
        """How many of the programs are seeds."""
        return len(self._seeds)

    def seeds(self) -> list[str]:
        """File names of the seeds, in order."""
        return [entry.seed for entry in self._seeds.values()]

    def seed(self, index: int) -> CorpusEntry:
        """A seed by its place in ``seeds``, that is in the order in which they were added.

        Raises:
            IndexError: there are not so many.
        """
        return list(self._seeds.values())[index]

    def program(self, entry: CorpusEntry) -> Program:
        """The entry's program; shared, so clone it before editing."""
        return self._load(entry.digest)

    def trace(self, entry: CorpusEntry) -> Trace:
        """How the entry was made: from which seed and by which edits.

        Args:
            entry: of the corpus. A program of one node counts as a seed of its own.

        Returns:
            The stored trace, decoded anew in each call.
        """
        if entry.digest in self._sprouts:
            program = self._load(entry.digest)
            return Trace.of_seed(program, entry.seed)
        return Trace.from_text(self._database.program(entry.digest).trace)

    def trace_of(self, testcase: Testcase) -> Trace:
        """How a program that is not in the corpus was made.

        Args:
            testcase: whose entry is the parent.

        Returns:
            The parent's trace with the edits of the testcase behind its own, all seeds as donors, and the SHA-256 of
            what was made.
        """
        return self.trace(testcase.entry).extended(testcase.edits, self.donors(), testcase.model or testcase.program)

    def donors(self) -> tuple[Trace, ...]:
        """Traces of the seeds, in the order in which splices see them."""
        if len(self._donors) != len(self._seeds):
            self._donors = tuple(self.trace(entry) for entry in self._seeds.values())
        return self._donors

    def digests(self) -> Sequence[str]:
        """Donors by digest, in the order in which the seeds were added."""
        return tuple(self._seeds)

    def get(self, digest: str) -> Program:
        """A private copy of a donor."""
        return self._load(digest).clone()

    def _load(self, digest: str) -> Program:
        if digest in self._sprouts:
            return sprouts()[self._sprouts[digest].seed]
        kept = self._decoded.get(digest)
        if kept is not None:
            self._decoded.move_to_end(digest)
            return kept[0]
        row = self._database.program(digest)
        program = self._read(row)
        self._keep(digest, program, _room(row, program))
        return program

    def _read(self, row: ProgramRow) -> Program:
        return self._programs.read(row.model, lambda: self._rebuilt(row))

    def remade(self, trace: Trace) -> Program:
        """A program that its edits make again, be it in the corpus or not.

        Args:
            trace: of it; its seed and donors must be in the corpus.

        Raises:
            InvalidProgram: an edit does not fit any more.
        """
        donors = FixedDonors({origin.digest: self._load(origin.digest) for origin in trace.donors})
        return replay(self._load(trace.seed.digest), trace.edits, load_specs(), donors)

    def _rebuilt(self, row: ProgramRow) -> Program:
        """A mutant with large weights of its own, made again by its edits.

        Raises:
            InvalidProgram: they make another program, as those of another version of irfuzz may.
        """
        trace = Trace.from_text(row.trace)
        program = self.remade(trace)
        if program.digest != row.digest:
            raise InvalidProgram(f"program {row.digest}: its edits, made by irfuzz {trace.irfuzz}, make another one")
        return program

    def _keep(self, digest: str, program: Program, size: int) -> None:
        """Hold a program, and as many of those used before it as there is room for."""
        size += NODE * len(program.nodes())
        self._decoded[digest] = program, size
        self._held += size
        while self._held > DECODED and len(self._decoded) > 1:
            self._held -= self._decoded.popitem(last=False)[1][1]


def _room(row: ProgramRow, program: Program) -> int:
    """Bytes that the tensors of a decoded program take."""
    if not is_packed(row.model):
        return len(row.model)
    return len(row.model) + weight_bytes(program) - mapped_bytes(program)
