"""Skips targets that hung on a mutant for the seed's other mutants, or for like ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program

SPARED = "spared"
"""Name of a count."""


class HangAvoidance:
    """What one job knows of hangs: one of them takes as long as a thousand runs, and the seed's next mutant hangs too.

    Programs that grow from one node have little in common; of them a component is spared those that have all operators
    of one that hung, but for operators with which it came back from another program.
    """

    def __init__(self) -> None:
        self._hung: set[tuple[str, str]] = set()
        self._ran: defaultdict[str, set[str]] = defaultdict(set)
        self._held: defaultdict[str, list[frozenset[str]]] = defaultdict(list)

    def saw(self, seed: str, program: Program, results: Sequence[RunResult]) -> None:
        """Take note of how the mutant of a seed ended.

        Args:
            seed: its name; for programs that grow from one node it is not the seed but the operators that count.
            program: that was run.
            results: of it; those that neither hung nor came back say nothing.
        """
        sprouted = seed in sprouts()
        operators = {node.op_type for node in program.nodes()}
        for result in results:
            component = result.target.component
            if result.exit is Exit.OK:
                self._ran[component] |= operators
            elif result.exit is Exit.HANG and not sprouted:
                self._hung.add((component, seed))
            elif result.exit is Exit.HANG:
                self._held[component].append(frozenset(operators))

    def spared(
        self, seed: str, program: Program, targets: Sequence[Target], counts: Counter[str]
    ) -> tuple[Target, ...]:
        """The targets that are to run a mutant of a seed.

        Args:
            seed: its name.
            program: the mutant.
            targets: whose turn it is.
            counts: of the job; how many were left out is added.

        Returns:
            In their order, without those whose component is likely to hang; perhaps none.
        """
        left = tuple(t for t in targets if (t.component, seed) not in self._hung)
        if self._held:
            operators = {node.op_type for node in program.nodes()}
            left = tuple(t for t in left if not self._holds(t.component, operators))
        counts[SPARED] += len(targets) - len(left)
        return left

    def _holds(self, component: str, operators: set[str]) -> bool:
        ran = self._ran[component]
        return any((rest := held - ran) and rest <= operators for held in self._held.get(component, ()))
