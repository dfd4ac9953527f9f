"""Which patterns that optimisers recognise occur in programs, exactly or with one difference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from irfuzz.mutate.patterns.near_misses import siblings
from irfuzz.mutate.patterns.pattern_file_reader import SubgraphPattern, patterns
from irfuzz.search.coverage.fusion_distance import distance
from irfuzz.search.coverage.operator_call_coverage import Share

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.ir.program_view import ProgramView

SCHEMA = 1
KINDS = ("exact", "near")
"""As some optimiser knows it; with exactly one thing off, which an optimiser may mistake for it."""


class Fusions:
    """Which patterns of ``mutate/patterns`` programs show; one that was seen both ways is not looked for again."""

    __slots__ = ("_ends", "_operators", "_seen")

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {kind: set() for kind in KINDS}
        # By the operators that may stand at a pattern's end.
        self._ends: dict[str, list[SubgraphPattern]] = defaultdict(list)
        self._operators = {p.name: frozenset(node.op for node in p.nodes) for p in patterns()}
        for pattern in patterns():
            for op in siblings(pattern.nodes[-1].op):
                self._ends[op].append(pattern)

    def add(self, program: ProgramView) -> int:
        """Count a program, bodies included.

        Args:
            program: only nodes of ONNX's default domain can end a pattern.

        Returns:
            How many patterns are new, exact ones and near ones each counted.
        """
        return self._add(program, (node for graph in program.model.graphs() for node in graph))

    def add_mutant(self, program: ProgramView) -> int:
        """Count what ends at a node that was edited since the program was cloned, or at a reader of one.

        That is faster than ``add``, but patterns that end further down are not looked for.

        Args:
            program: a mutant, whose ``touched`` has the nodes that were edited.

        Returns:
            How many patterns are new, exact ones and near ones each counted.
        """
        touched = program.touched
        near = {user for node in touched for value in node.outputs for user, _ in value.uses()}
        return self._add(program, (n for graph in program.model.graphs() for n in graph if n in touched or n in near))

    def _add(self, program: ProgramView, nodes: Iterable[ir.Node]) -> int:
        before = self.covered
        there = {node.op_type for graph in program.model.graphs() for node in graph}
        near = self._seen["near"]
        for node in nodes:
            found = self._ends.get(node.op_type)
            if not found or node.domain not in ("", "ai.onnx"):
                continue
            for pattern in tuple(found):
                most = int(pattern.name not in near)
                if sum(op not in there for op in self._operators[pattern.name]) > most:
                    continue
                off = distance(pattern, program, node, most)
                if off is not None:
                    self._count(pattern, KINDS[off])
        return self.covered - before

    @property
    def covered(self) -> int:
        """How many patterns were seen, one seen both ways (exactly and with one thing off) counting twice."""
        return sum(map(len, self._seen.values()))

    def _count(self, pattern: SubgraphPattern, kind: str) -> None:
        self._seen[kind].add(pattern.name)
        if all(pattern.name in names for names in self._seen.values()):
            for known in self._ends.values():
                if pattern in known:
                    known.remove(pattern)

    def shares(self) -> dict[str, Share]:
        """How many of all patterns were seen each way, by ``exact`` and ``near``."""
        return {kind: Share(len(self._seen[kind]), len(patterns())) for kind in KINDS}

    def labelled(self) -> dict[str, Share]:
        """The same as ``shares`` under names for people, ``pattern`` and ``near pattern``."""
        shares = self.shares()
        return {"pattern": shares["exact"], "near pattern": shares["near"]}

    def missing(self) -> dict[str, list[str]]:
        """Names of patterns that were not seen, by ``exact`` and ``near``, in the order of the book of patterns."""
        return {kind: [p.name for p in patterns() if p.name not in self._seen[kind]] for kind in KINDS}

    def state(self) -> dict[str, Any]:
        """What was seen, as JSON-able data that ``absorb`` takes: sorted names of patterns by ``exact`` and
        ``near``.
        """
        return {"schema": SCHEMA, **{kind: sorted(names) for kind, names in self._seen.items()}}

    def absorb(self, state: Mapping[str, Any]) -> None:
        """Count what others have seen; what is of another schema, and patterns that are gone, are left out.

        Args:
            state: what ``state`` of another one gave; what both have seen counts once.
        """
        if state.get("schema") != SCHEMA:
            return
        known = {p.name: p for p in patterns()}
        for kind in KINDS:
            for name in state[kind]:
                if name in known:
                    self._count(known[name], kind)
