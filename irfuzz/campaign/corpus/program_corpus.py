"""Programs worth mutating, from rows of the database, and weighted choices of a parent."""

from __future__ import annotations

import gc
import sys
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from irfuzz.campaign.corpus.feature_holders import FeatureHolders
from irfuzz.campaign.corpus.known_programs import claim_of, entries_after, know_all
from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.execute.adapters.mapped_weights import mapped_bytes
from irfuzz.execute.large_model_limits import weight_bytes
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import Feature
from irfuzz.mutate.insertion.splice import donors_taken
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.mutate.mutation_engine import replay
from irfuzz.mutate.mutation_trace import FixedDonors, Trace
from irfuzz.mutate.mutator_table import is_steered
from irfuzz.search.strategies.strategy_protocol import Search
from irfuzz.search.strategies.weighted import Weighted
from irfuzz.spec import load_specs
from irfuzz.store.database import Database, ProgramRow
from irfuzz.store.model_blob_packing import is_packed
from irfuzz.store.model_compression import expanded

DECODED = 24 << 20
"""Programs are kept decoded up to so many bytes: to decode one again takes as long as to mutate it."""

BASES = 8 << 20
"""The same of the bytes of seeds: mutants are stored without what they have in common with them."""

BLOCK = 64
"""Bytes of an object of a decoded program, on the average: 45 to 56 when it is new, and mutation adds some."""

ROOM = 30
"""Mutants of a seed that is larger than others may get so many nodes more than it has."""

MOVED = 8
"""Who is favoured is looked at again once one in so many programs holds more or less than it did."""

BATCH = 5000
"""Programs that are taken in at once: the rows of all would take more room than what is kept of them."""

CROWD = 500
"""For every so many programs in the corpus a new one must bring one more feature, new or cheaper."""


class Corpus:
    """One job's view of the programs in the database.

    Also the ``Donors`` of splices: these are the seeds, which every job has and no job changes.

    A program is known by what the database's index says of it, and is read when it is drawn. One that holds no feature
    any more leaves (``feature_holders``), also from the database; seeds stay.

    Args:
        database: of the campaign.
        share: how often a parent is one of ``generate.one_node_programs.sprouts``, which are no seeds and are in no
            database.
        job: number of the job.
        jobs: how many there are.
    """

    def __init__(self, database: Database, share: float = 0.0, *, job: int = 0, jobs: int = 1) -> None:
        self._database = database
        self._job = job, jobs
        self.holders = FeatureHolders()
        self._programs = database.programs
        self._share = share
        self._sprouts = {p.digest: CorpusEntry(p.digest, n, 0, 1) for n, p in (sprouts() if share else {}).items()}
        self._small: tuple[CorpusEntry, ...] = ()
        self.limit(NEWEST)
        self._weighted = Weighted(())
        self._number = self._counted = 0
        self._picked: Mapping[int, int] = {}
        self._favoured: frozenset[int] = frozenset()
        self._moved = 0
        self._entries: list[CorpusEntry] = []
        self._new: list[ProgramRow] = []
        self._own: dict[str, Program] = {}
        self._seeds: dict[str, CorpusEntry] = {}
        self._sizes: dict[str, int] = {}
        self._decoded: OrderedDict[str, tuple[Program, int]] = OrderedDict()
        self._held = 0
        self._bases: OrderedDict[str, bytes] = OrderedDict()

    def limit(self, newest: int) -> None:
        """Let no parent of one node be of a newer opset.

        Args:
            newest: version of ONNX's default domain. Programs of the database are not affected.
        """
        known = frozenset(sprouts_up_to(newest)) if self._sprouts else frozenset[str]()
        self._known_small = tuple(entry for entry in self._sprouts.values() if entry.seed in known)
        self._small = self._known_small

    def narrow(self, allowed: Callable[[int], bool]) -> None:
        """Draw no parent of one node whose opset is not allowed, until the next call; all if none of them is.

        Args:
            allowed: asked for each opset.
        """
        wanted = tuple(entry for entry in self._known_small if allowed(sprouts()[entry.seed].opset))
        self._small = wanted or self._known_small

    def is_small(self, digest: str) -> bool:
        """Whether a program is one of one node that is in no database.

        Args:
            digest: of the program.
        """
        return digest in self._sprouts

    def small_parent(self, choices: Choices) -> CorpusEntry | None:
        """A parent of one node; ``None`` if there are none.

        Args:
            choices: of the iteration.
        """
        return choices.pick(self._small) if self._small else None

    def refresh(self, *, culls: bool = True) -> Iterator[Program]:
        """Take in what was added since the last call, by any job, and let go what holds no feature any more.

        A program without a parent becomes a seed, and so a donor.

        Args:
            culls: programs may leave. A search may count on their places.

        Yields:
            Programs that are new, those that this job made as it made them; all are to be taken. What ``recall`` was
            told of is not read.

        Raises:
            InvalidProgram: the edits of a mutant with large weights make another program now, as those of another
                version of irfuzz may.
        """
        know_all(self._database, self.holders, self.load)
        resumed, moved = not self._entries and bool(self._favoured), 0
        while entries := entries_after(self._database, self._number, BATCH):
            for entry in entries:
                self._number = entry.number
                self._take(entry)
                made = self._own.get(entry.digest)
                if made is not None:
                    yield made
                elif entry.number > self._counted:
                    yield self.load(entry.digest)
            moved += len(self.holders.take(list(map(claim_of, entries))))
        self.holders.forget_reserved()
        self._moved += 0 if resumed else moved
        waiting = {row.digest for row in self._new}
        self._own = {digest: made for digest, made in self._own.items() if digest in waiting}
        self._let_go(culls=culls)

    def _take(self, entry: CorpusEntry) -> None:
        entry.picked = self._picked.get(entry.number, 0)
        entry.favoured = entry.number in self._favoured
        self._entries.append(entry)
        if entry.original:
            self._seeds[entry.digest] = entry
            self._sizes[entry.seed] = entry.nodes

    def _let_go(self, *, culls: bool) -> None:
        """Remove programs that hold no feature, and those that another job removed; count what the others hold."""
        held = self.holders.held
        gone = [e.number for e in self._entries if not e.original and not held[e.number]] if culls else []
        leaving = {*self._database.index.leave(gone, *self._job)}
        if leaving:
            self._entries = [entry for entry in self._entries if entry.number not in leaving]
            for number in leaving:
                held.pop(number, None)
        for entry in self._entries:
            entry.features = held[entry.number]
        if self._moved * MOVED >= max(1, len(self._entries)):
            self._favoured, self._moved = frozenset(self.holders.favoured(map(claim_of, self._entries))), 0
            for entry in self._entries:
                entry.favoured = entry.number in self._favoured

    def add(self, testcase: Testcase) -> bool:
        """Have a program that shows something new stored; False if it could not be made again.

        ``refresh`` gives it once it was stored: by ``Database.record``, with all others that ``take_new`` gives.
        """
        trace, model = self.trace_of(testcase), testcase.whole
        if is_packed(model):
            model = self._programs.mutant(testcase.program)
            if not self._programs.is_whole(model) and is_steered(trace.edits):
                return False  # nothing would make its large weights again
        else:
            seed = trace.seed.digest
            model = self._programs.small_mutant(model, seed, self._stored(seed) if seed in self._seeds else b"")
        program, parent = testcase.program, testcase.entry
        self._new.append(
            ProgramRow(
                program.digest, model, parent.seed, parent.digest, trace.to_text(), testcase.features, testcase.job,
                testcase.iteration, nodes=len(program.nodes()), cost=testcase.cost, keys=testcase.brings,
            )
        )  # fmt: skip
        self._own[program.digest] = program
        return True

    def take_new(self) -> list[ProgramRow]:
        """What was added since the last call."""
        new, self._new = self._new, []
        return new

    def __len__(self) -> int:
        return len(self._entries)

    def pick(self, choices: Choices, search: Search | None = None, *, widely: bool = False) -> CorpusEntry:
        """A parent for the next mutant, as a search chooses (by default ``Weighted``).

        Args:
            choices: of the iteration.
            search: if it takes programs of one node, these are drawn first, as often as ``share`` says.
            widely: these may be of any opset, whatever ``narrow`` says.

        Returns:
            An entry; ``program`` gives what it stands for.
        """
        search = search or self._weighted
        if self._share and search.sprouts and choices.boolean(self._share):
            return choices.pick(self._known_small if widely else self._small)
        return search.choose(self._entries, choices)

    def most_nodes(self, entry: CorpusEntry, usual: int) -> int:
        """How many nodes a mutant may have: as many as usual, or some more than the seed that it comes from."""
        size = self._sizes.get(entry.seed, 0)
        return usual if size < usual else size + ROOM

    def state(self) -> Mapping[str, Any]:
        """How often programs were parents and which are favoured, by their numbers, and the number up to which all are
        known; JSON-able data that ``recall`` takes.
        """
        picked = [[entry.number, entry.picked] for entry in self._entries if entry.picked]
        return {"number": self._number, "picked": picked, "favoured": sorted(self._favoured)}

    def recall(self, state: Mapping[str, Any], *, counted: bool) -> None:
        """Go on from what ``state`` gave, before anything is taken in.

        Args:
            state: of a corpus of the same database.
            counted: the job remembers the features of all programs that it knew then.
        """
        self._picked = dict(state["picked"])
        self._favoured = frozenset(state["favoured"])
        self._counted = state["number"] if counted else 0

    def is_seed(self, digest: str) -> bool:
        """Whether a program is one of the seeds.

        Args:
            digest: of the program.
        """
        return digest in self._seeds

    def holder(self, feature: Feature) -> str | None:
        """Digest of the program that holds a feature; ``None`` if nobody here does.

        Args:
            feature: as those say that count it.
        """
        number = self.holders.holder(feature)
        if number is None:
            return None
        place = bisect_left(self._entries, number, key=lambda entry: entry.number)
        found = place < len(self._entries) and self._entries[place].number == number
        return self._entries[place].digest if found else None

    def bar(self) -> int:
        """How many features, new or cheaper, a program must bring to be taken in."""
        return 1 + len(self._entries) // CROWD

    @property
    def entries(self) -> Sequence[CorpusEntry]:
        """All programs, in the order in which they came; not to be changed."""
        return self._entries

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
        return self.load(entry.digest)

    def trace(self, entry: CorpusEntry) -> Trace:
        """How the entry was made: from which seed and by which edits.

        Args:
            entry: of the corpus. A program of one node counts as a seed of its own.

        Returns:
            The stored trace, decoded anew in each call.
        """
        if entry.digest in self._sprouts:
            program = self.load(entry.digest)
            return Trace.of_seed(program, entry.seed)
        return Trace.from_text(self._database.program(entry.digest).trace)

    def trace_of(self, testcase: Testcase) -> Trace:
        """How a program that is not in the corpus was made.

        Args:
            testcase: whose entry is the parent.

        Returns:
            The parent's trace with the edits of the testcase behind its own, the seeds that these took parts from, and
            the SHA-256 of what was made.
        """
        before = self.trace(testcase.entry)
        donors = [self.trace(self._seeds[digest]) for digest in donors_taken((*before.edits, *testcase.edits))]
        return before.extended(testcase.edits, donors, testcase.model or testcase.program)

    def digests(self) -> Sequence[str]:
        """Donors by digest, in the order in which the seeds were added."""
        return tuple(self._seeds)

    def get(self, digest: str) -> Program:
        """A private copy of a donor."""
        return self.load(digest).clone()

    def load(self, digest: str) -> Program:
        """The program of a digest; shared, so clone it before editing.

        Args:
            digest: of a program of the database, or of one of one node.
        """
        if digest in self._sprouts:
            return sprouts()[self._sprouts[digest].seed]
        kept = self._decoded.get(digest)
        if kept is not None:
            self._decoded.move_to_end(digest)
            return kept[0]
        row = self._database.program(digest)
        program, size = _measured(lambda: self._read(row))
        self._keep(digest, program, size)
        return program

    def _read(self, row: ProgramRow) -> Program:
        return self._programs.read(row.model, lambda: self._rebuilt(row), self._stored)

    def _stored(self, digest: str) -> bytes:
        """Bytes of a small seed, or of a large one as they are stored; those that were asked for last are held."""
        if digest not in self._bases:
            data = self._database.program(digest).model
            self._bases[digest] = data if is_packed(data) else expanded(data, self._stored)
            while sum(map(len, self._bases.values())) > BASES and len(self._bases) > 1:
                self._bases.popitem(last=False)
        self._bases.move_to_end(digest)
        return self._bases[digest]

    def remade(self, trace: Trace) -> Program:
        """A program that its edits make again, be it in the corpus or not.

        Args:
            trace: of it; its seed and donors must be in the corpus.

        Raises:
            InvalidProgram: an edit does not fit any more.
        """
        donors = FixedDonors({origin.digest: self.load(origin.digest) for origin in trace.donors})
        return replay(self.load(trace.seed.digest), trace.edits, load_specs(), donors)

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
        self._decoded[digest] = program, size
        self._held += size
        while self._held > DECODED and len(self._decoded) > 1:
            self._held -= self._decoded.popitem(last=False)[1][1]


def _measured(decode: Callable[[], Program]) -> tuple[Program, int]:
    """A program and the bytes of memory that it takes: those of its objects, and of weights that no file is mapped for.

    The collector waits meanwhile, for what it frees would be taken for less.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        program = decode()
        blocks = sys.getallocatedblocks() - before
    finally:
        if collects:
            gc.enable()
    return program, BLOCK * max(0, blocks) + weight_bytes(program) - mapped_bytes(program)
