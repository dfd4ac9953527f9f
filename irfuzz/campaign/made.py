"""A program that is ready to be run, as a job makes it and then judges it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irfuzz.campaign.corpus import Entry
from irfuzz.execute.large_limits import weight_bytes
from irfuzz.execute.mapped_model import LARGE_MODEL, mapped_bytes
from irfuzz.execute.types import Target, Value
from irfuzz.ir.program import Program
from irfuzz.mutate.types import Edit
from irfuzz.store.packed_model import is_packed


@dataclass(frozen=True, slots=True)
class Made:
    """A program that is ready to be run.

    Attributes:
        entry: its parent, or itself where it is a seed.
        parent: the parent's program.
        edits: what was done to the parent.
        program: the mutant.
        model: its bytes, as ``StoredPrograms.whole`` gives them.
        inputs: by name.
        invalid: an edit declares it invalid.
        targets: those that run it at first.
        features: how many of its features no program before it had.
        keep: it is to be a parent, if anything runs it.
        hunt: what its inputs were steered to; empty where they were not.
    """

    entry: Entry
    parent: Program
    edits: tuple[Edit, ...]
    program: Program
    model: bytes
    inputs: Mapping[str, Value]
    invalid: bool
    targets: tuple[Target, ...]
    features: int
    keep: bool
    hunt: str = ""

    def size(self) -> int:
        """Bytes of model and tensors that travel to a worker."""
        sent = len(self.model) + sum(getattr(value, "nbytes", 0) for value in self.inputs.values())
        if is_packed(self.model) and mapped_bytes(self.program) < LARGE_MODEL:
            sent += weight_bytes(self.program)
        return sent
