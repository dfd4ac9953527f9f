"""Which suspects are worth a look first: the smaller, the more exact and the more alone, the likelier it is a fault."""

from __future__ import annotations

from collections.abc import Iterable

from irfuzz.findings.causes.cause_grouping import SMALL, Cause
from irfuzz.findings.finding import Finding
from irfuzz.oracle.verdict import Verdict

TINY = 2
"""In a program of so few nodes hardly anything but the operator at fault is left."""

Rank = tuple[int, bool, bool, float, int]
"""The lower, the sooner."""


def rank(verdict: Verdict, cause: Cause | None) -> Rank:
    """The key of a suspect's place in a list.

    Small programs come first; of these what is wrong exactly (a type, a shape, an integer, a refusal), since rounding
    explains none of it; then what several components contradict; then what is farthest beyond its bound.

    Args:
        verdict: of the suspect.
        cause: as stored with it; ``None`` for a large program.
    """
    nodes = SMALL + 1 if cause is None else cause.nodes
    size = 0 if nodes <= TINY else 1 if nodes <= SMALL else 2
    components = {name.partition(":")[0].partition("@")[0] for name in verdict.witnesses}
    return size, bool(verdict.bound), len(components) < 2, -(verdict.ratio or 0.0), nodes


def ranked(suspects: Iterable[Finding]) -> list[Finding]:
    """Suspects in the order in which they are to be looked at.

    Args:
        suspects: as they are stored, with their causes; ``rank`` says what counts.

    Returns:
        A new list, the likeliest fault first.
    """
    return sorted(suspects, key=lambda one: rank(one.verdict, one.cause))
