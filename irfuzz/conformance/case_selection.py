"""Which cases run, and in which order."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from irfuzz.conformance.case_types import CaseSource, ConformanceCase
from irfuzz.conformance.drawn_call_cases import drawn_cases
from irfuzz.conformance.onnx_node_cases import node_cases
from irfuzz.conformance.shipped_model_cases import bug_cases, seed_cases
from irfuzz.errors import UsageError

SOURCES: dict[CaseSource, Callable[[Collection[str] | None, int], list[ConformanceCase]]] = {
    CaseSource.NODE: lambda ops, _seed: node_cases(ops),
    CaseSource.BUG: lambda ops, _seed: bug_cases(ops),
    CaseSource.SEED: lambda ops, _seed: seed_cases(ops),
    CaseSource.DRAWN: drawn_cases,
}
"""Makes the cases of each source, of some operators or all, with the seed of what is drawn."""


def cases_of(
    sources: Collection[CaseSource], ops: Collection[str] | None = None, seed: int = 0
) -> list[ConformanceCase]:
    """The cases of some sources, in the order in which they run.

    Each operator comes once before any comes twice; within that the order is drawn, so that the first N cases are a
    sample of all operators. A case that is added or goes leaves the others in their order.

    Args:
        sources: at least one.
        ops: names of operators; all if ``None``.
        seed: of the order, and of drawn calls.

    Raises:
        UsageError: no case is about any of the operators; the message begins with ``ops``.
    """
    found = [case for source in SOURCES if source in sources for case in SOURCES[source](ops, seed)]
    if not found:
        raise UsageError(f"ops: no case is about {', '.join(ops or ()) or 'anything'}; `irfuzz ops` lists operators")
    return _in_turn(found, seed)


def _in_turn(cases: Sequence[ConformanceCase], seed: int) -> list[ConformanceCase]:
    by_operator: defaultdict[str, list[ConformanceCase]] = defaultdict(list)
    for case in cases:
        by_operator[case.operator].append(case)
    placed = [
        (round_, _drawn(seed, operator), case)
        for operator, own in by_operator.items()
        for round_, case in enumerate(sorted(own, key=lambda case: _drawn(seed, case.name)))
    ]
    return [case for _, _, case in sorted(placed, key=lambda entry: entry[:2])]


def _drawn(seed: int, name: str) -> bytes:
    return hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
