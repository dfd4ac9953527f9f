"""How a program of the corpus came to be: its parent's trace and the new edits enter, its own trace leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence

from irfuzz.ir.program import Program
from irfuzz.mutate.trace import Origin, Trace, parse_trace, sha256
from irfuzz.mutate.types import Edit


def seed_trace(program: Program, data: bytes, name: str) -> Trace:
    """The trace of a seed: no edits."""
    return Trace(Origin(program.digest, sha256(data), name), (), (), sha256(data))


def extend(parent: Trace, edits: Sequence[Edit], donors: Sequence[Origin], data: bytes) -> Trace:
    """The trace of a mutant with the bytes ``data``, made from the program that ``parent`` describes."""
    return Trace(parent.seed, tuple(donors), (*parent.edits, *edits), sha256(data))


def dump(trace: Trace) -> str:
    """A trace as JSON text."""
    return json.dumps(trace.to_json(), allow_nan=False)


def load(text: str) -> Trace:
    """The inverse of ``dump``.

    Raises:
        InvalidProgram: it is not a trace.
    """
    return parse_trace(json.loads(text), "stored trace")
