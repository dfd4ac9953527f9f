"""A program on which targets disagree, as a job hands it to triage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irfuzz.execute.types import RunResult, Value
from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class Case:
    """A program on which targets disagree.

    Attributes:
        program: the mutant.
        inputs: what it was run on.
        results: what every target did.
        invalid: an edit declared the program invalid, so that refusing it is right.
        trace: how the mutant was made, as JSON has it.
        seed: name of the seed at the root of its lineage.
        job: which job made it.
        iteration: and when.
        hunt: what its inputs were steered to; empty where they were not.
    """

    program: Program
    inputs: Mapping[str, Value]
    results: Sequence[RunResult]
    invalid: bool
    trace: Mapping[str, Any]
    seed: str
    job: int
    iteration: int
    hunt: str = ""
