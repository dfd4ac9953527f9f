"""Limits of workers that are to run a model with large weights, if nobody gave any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.ir.serialization.external_tensor_references import byte_size
from irfuzz.ir.serialization.preserved_unsupported_fields import WIRE
from irfuzz.isolate import Limits

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

COPIES = 8
"""Of the weights, in bytes, that a worker may hold: a shadow in float64 has two and computes on as many again."""

BYTES_A_SECOND = 32 << 20
"""Weights that the slowest component reads, converts and uses once."""


def weight_bytes(program: Program) -> int:
    """Bytes of the initializers of a program's main graph; those in files count, those in bodies do not."""
    return sum(byte_size(t) for v in program.graph.initializers.values() if (t := v.const_value) is not None)


def wire_bytes(program: Program) -> int:
    """At least ``weight_bytes``, from what tensors keep of their last serialisation: a tenth of the time.

    A tensor that was never serialised counts with its own bytes.
    """
    found = 0
    for value in program.graph.initializers.values():
        tensor = value.const_value
        if tensor is not None:
            known = tensor.meta.get(WIRE)
            found += byte_size(tensor) if known is None else len(known)
    return found


def memory_for(programs: Iterable[Program], least: int) -> int:
    """Bytes that a worker needs at most for the largest of some programs, but not less than ``least``.

    Args:
        programs: that it is to run; only their weights are looked at.
        least: the usual limit. A quarter of it is for all but weights, of which several copies are allowed for.
    """
    return max(least, least // 4 + COPIES * max(map(weight_bytes, programs), default=0))


def limits_for(programs: Iterable[Program], limits: Limits, *, memory: bool = True, seconds: bool = True) -> Limits:
    """Limits widened for the largest of some programs.

    Args:
        programs: that are to run.
        limits: of small programs.
        memory: whether nobody has said what a worker may take.
        seconds: whether nobody has said how long it may take.
    """
    programs = list(programs)
    most = max(map(weight_bytes, programs), default=0)
    allowed = limits.memory_bytes
    if memory and allowed is not None:
        allowed = memory_for(programs, allowed)
    return replace(limits, memory_bytes=allowed, seconds=limits.seconds + (most / BYTES_A_SECOND if seconds else 0.0))
