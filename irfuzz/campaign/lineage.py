"""How a program of the corpus came to be: its parent's trace and the new edits enter, its own trace leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence

from irfuzz.ir.program import Program
from irfuzz.mutate.trace import Origin, Trace, parse_trace, program_sha256, sha256
from irfuzz.mutate.types import Edit


def seed_trace(program: Program, name: str) -> Trace:
    """The trace of a seed: no edits."""
    made = program_sha256(program)
    return Trace(Origin(program.digest, made, name), (), (), made)


def extend(parent: Trace, edits: Sequence[Edit], donors: Sequence[Origin], made: Program | bytes) -> Trace:
    """The trace of a mutant, given as program or in its bytes, made from the program that ``parent`` describes."""
    hashed = sha256(made) if isinstance(made, bytes) else program_sha256(made)
    return Trace(parent.seed, tuple(donors), (*parent.edits, *edits), hashed)


def dump(trace: Trace) -> str:
    """A trace as JSON text."""
    return json.dumps(trace.to_json(), allow_nan=False)


def load(text: str) -> Trace:
    """The inverse of ``dump``.

    Raises:
        InvalidProgram: it is not a trace.
    """
    return parse_trace(json.loads(text), "stored trace")
