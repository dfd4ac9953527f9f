"""The fewest edits of a trace whose mutant still shows the fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute.run_types import Value
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.mutation_engine import replay
from irfuzz.mutate.mutation_trace import FixedDonors, Trace, sha256
from irfuzz.mutate.mutator_protocol import Edit
from irfuzz.spec import load_specs

Still = Callable[[Program, Mapping[str, Value]], bool]


def fewer_edits(
    trace: Trace, seeds: Mapping[str, Program], inputs: Mapping[str, Value], still: Still
) -> tuple[Trace, Program] | None:
    """Drop edits: halves, quarters and so on, then single ones, until each that is left is needed.

    Args:
        trace: of the mutant.
        seeds: programs by digest.
        inputs: of the mutant; what they are not enough for is not tried.
        still: whether a program shows the fault.

    Returns:
        The shorter trace and its mutant; ``None`` if no edit can go, or a seed is missing.
    """
    origins = (trace.seed, *trace.donors)
    if any(o.digest not in seeds for o in origins):
        return None
    donors = FixedDonors({o.digest: seeds[o.digest] for o in origins})
    specs = load_specs()

    def mutant(edits: tuple[Edit, ...]) -> Program | None:
        try:
            program = replay(seeds[trace.seed.digest], edits, specs, donors)
        except (InvalidProgram, UsageError):
            return None  # an edit needs one that was dropped
        names = {v.name for v in program.graph.inputs if v.name not in program.graph.initializers}
        if not names <= set(inputs) or verify(program):
            return None
        return program if still(program, {n: v for n, v in inputs.items() if program.value(n)}) else None

    edits, best = trace.edits, None
    size = max(1, len(edits) // 2)
    while edits:
        found = False
        for start in reversed(range(0, len(edits), size)):
            fewer = edits[:start] + edits[start + size :]
            if (program := mutant(fewer)) is not None:
                edits, best, found = fewer, program, True
        if found:
            size = min(size, len(edits))
        elif size > 1:
            size //= 2
        else:
            break
    if best is None:
        return None
    return replace(trace, edits=edits, sha256=sha256(best.to_bytes())), best
