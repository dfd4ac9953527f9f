"""Cuts a program that shows a fault to its part up to an earlier value of a wrong kind, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.facts import SequenceFact, TensorFact
from irfuzz.findings.causes.wrong_dtype_shape_relation import KINDS
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

BEFORE: Mapping[Symptom, frozenset[Symptom]] = {
    Symptom.REJECTION: KINDS,
    Symptom.DIFFERENCE: KINDS | {Symptom.NAN_INF},
    Symptom.NAN_INF: KINDS,
    Symptom.WRONG_DTYPE: KINDS,
    Symptom.WRONG_SHAPE: KINDS,
}
"""What an earlier value may show instead; a NaN that a maximum, a comparison or an index swallows is a difference.

Making a case small ends it at tensors alone, so wrong types and shapes may begin at an earlier sequence.
"""

MOST = 16
"""Programs with more inner values were not made small, and say nothing about causes."""


def earlier_cause(
    program: Program, verdict: Verdict, judge: Callable[[Program], Sequence[Verdict]]
) -> tuple[Program, Verdict] | None:
    """The program that ends at the first value of a wrong dtype or shape, or NaN, and what is said of it.

    Otherwise every operator that stumbles over one such value would be a fault of its own.

    Args:
        program: shows ``verdict``; it stays as it is.
        verdict: what it shows.
        judge: runs a program on the same inputs and judges it.

    Returns:
        ``None`` if no inner value of the same target is of such a kind.
    """
    earlier = BEFORE.get(verdict.symptom)
    if earlier is None:
        return None
    facts = SequenceFact if verdict.symptom in KINDS else (TensorFact, SequenceFact)
    names = [
        o.name
        for node in program.nodes()
        for o in node.outputs
        if o.name and not o.is_graph_output() and isinstance(program.fact(o), facts)
    ]
    for name in names if len(names) <= MOST else ():
        try:
            candidate = ending_at(program, name)
            found = judge(candidate)
        except (InvalidProgram, Unsupported):
            continue
        for one in found:
            if one.symptom in earlier and one.target == verdict.target and not one.suspect:
                return candidate, one
    return None


def ending_at(program: Program, name: str) -> Program:
    """The part of a program that computes one value, which is its only output.

    Raises:
        InvalidProgram: the value cannot be an output.
    """
    candidate = program.clone()
    value = candidate.value(name)
    assert value is not None
    candidate.add_output(value)
    for other in list(candidate.graph.outputs):
        if other is not value:
            candidate.graph.outputs.remove(other)
    candidate.prune()
    return candidate
