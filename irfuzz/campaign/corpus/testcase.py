"""A program of the corpus, and one that is made of it: run, judged and perhaps kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irfuzz.execute.adapters.mapped_weights import LARGE_MODEL, mapped_bytes
from irfuzz.execute.large_model_limits import weight_bytes
from irfuzz.execute.run_types import Target, Value
from irfuzz.ir.program import Program
from irfuzz.mutate.mutator_protocol import Edit, Relation
from irfuzz.store.model_blob_packing import is_packed


@dataclass(slots=True)
class CorpusEntry:
    """A program of the corpus and how often it was chosen; the model itself stays in the database.

    Attributes:
        digest: of the program.
        seed: file name of the seed that it comes from.
        features: how many it holds: no cheaper program of the corpus brought them.
        nodes: in its main graph.
        picked: how often it was a parent.
        favoured: it is one of a few that together brought every feature.
        number: of the program in the database.
        original: it is a seed.
        cost: of it (``feature_holders.cost_of``).
        keys: of the features that it brought, as ``feature_holders.Keys`` in bytes.
    """

    digest: str
    seed: str
    features: int
    nodes: int
    picked: int = 0
    favoured: bool = False
    number: int = 0
    original: bool = False
    cost: int = 0
    keys: bytes = b""


@dataclass(frozen=True, slots=True)
class Testcase:
    """One program of a campaign, first as it is mutated, then as it is run (``Runner.run_all``) and judged.

    Attributes:
        job: that makes it.
        iteration: of the job.
        entry: its parent, or itself if it is a seed as it is.
        parent: the parent's program.
        program: its own.
        edits: what was done to the parent; none if it is a seed as it is.
        sample: number of its inputs among the seed's samples, if it is a seed as it is.
        plan: of the search that asked for it.
        whole: its bytes, as ``StoredPrograms.whole`` gives them.
        inputs: by name.
        targets: those that run it at first.
        features: how many of its features no program before had.
        cost: of it, if it is a valid mutant.
        brings: features that nobody in the corpus holds, or somebody dearer, as ``feature_holders.Keys`` in bytes.
        keep: it is to be a parent, if anything runs it.
        asks: what the most optimised target of a component is asked for besides (``PassCoverage.asks``).
        hunt: what its inputs were steered to; empty if they were not.
    """

    __test__ = False  # pytest takes it for a class of tests

    job: int
    iteration: int
    entry: CorpusEntry
    parent: Program
    program: Program
    edits: tuple[Edit, ...] = ()
    plan: tuple[str | None, ...] = ()
    sample: int | None = None
    whole: bytes = b""
    inputs: Mapping[str, Value] = field(default_factory=dict[str, Value])
    targets: tuple[Target, ...] = ()
    features: int = 0
    cost: int = 0
    brings: bytes = b""
    keep: bool = False
    asks: Mapping[str, str] | None = None
    hunt: str = ""

    @property
    def invalid(self) -> bool:
        """Whether an edit declares it invalid."""
        return any(edit.relation is Relation.INVALID for edit in self.edits)

    @property
    def patterns(self) -> tuple[str, ...]:
        """Names of the patterns that its edits inserted."""
        return tuple(edit.pattern for edit in self.edits if edit.pattern)

    @property
    def tag(self) -> str:
        """What its runs are called."""
        return f"{self.job}/{self.iteration}"

    @property
    def model(self) -> bytes | None:
        """Its bytes as workers take them; ``None`` if they do not stand in ``whole`` so."""
        return None if is_packed(self.whole) else self.whole

    def size(self) -> int:
        """Bytes of model and tensors that travel to a worker."""
        sent = len(self.whole) + sum(getattr(value, "nbytes", 0) for value in self.inputs.values())
        if is_packed(self.whole) and mapped_bytes(self.program) < LARGE_MODEL:
            sent += weight_bytes(self.program)
        return sent
