"""What is worth trying next: calls, pairs and types that no program has covered yet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir

from irfuzz.ir.program_view import ProgramView
from irfuzz.search.coverage.coverable_call_space import Space
from irfuzz.search.coverage.operator_call_coverage import Coverage

_ALONE = 0.02
"""Worth of a call that is not known to bring anything: nothing is given up for good."""

_SUCCESSOR = 0.1
"""Worth of a consumer that an operator's result has not met, beside that of a value of its own."""


class Frontier(Coverage):
    """Coverage that mutators may aim at (``irfuzz.mutate.mutator_context.CoverageGaps``).

    A call is worth the features of its operator that are left, divided by how often it has been made since it last
    brought one, so that what cannot be reached is asked for ever more seldom.

    Attributes:
        worth: of all features that are covered, in which each criterion as a whole counts the same: a sequence, of
            which there are many, is worth little beside a parameter.
    """

    __slots__ = ("_dry", "_each", "_failed", "_own", "_successors", "_worth", "worth")

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._own: dict[str, int] = {}
        for op, o in space.operators.items():
            parameters = sum(v if isinstance(v, int) else len(v) for v in o.parameters.values())
            self._own[op] = len(o.dtypes) + len(o.ranks) + o.shapes + parameters
        self._successors: dict[str, set[str]] = defaultdict(set)
        for first, second in space.sequences:
            self._successors[first].add(second)
        self._failed: dict[str, Counter[str]] = defaultdict(Counter)
        self._dry: Counter[str] = Counter()
        # Of an operator that stands behind another: its own features that are left, less with each call in vain.
        self._worth = {op: 1.0 + own for op, own in self._own.items()}
        totals = space.totals()
        mean = sum(totals.values()) / len(totals)
        self._each = {name: mean / max(1, total) for name, total in totals.items()}
        self.worth = 0.0

    def call(self, op: str) -> float:
        """How much a call of an operator is worth on its own; never 0.

        It is what is left of the operator's features, and a tenth for each consumer that its result has not met,
        divided by one more than the calls since it last brought something.

        Args:
            op: name of an operator; one that is not in the space is worth very little.
        """
        left = self._own.get(op, 0) + _SUCCESSOR * len(self._successors.get(op, ()))
        return _ALONE + left / (1.0 + self._dry[op])

    def pair(self, producer: str, consumer: str) -> float:
        """How much it is worth that one operator reads what another gives; 0 if that is covered.

        Args:
            producer: name of the operator that gives it.
            consumer: name of the one that reads it. Each time that ``failed`` was told of both makes the pair worth
                less, by the square.
        """
        if consumer not in self._successors.get(producer, ()):
            return 0.0
        failed = 1.0 + self._failed[producer][consumer]
        return self._worth[consumer] / (failed * failed)

    def pairs(self, producer: str, consumers: Sequence[str]) -> list[float] | None:
        """What ``pair`` says of each consumer; ``None`` if that is 0 of all.

        Args:
            producer: name of the operator that gives the value.
            consumers: names; the result has a number for each, in the same order.
        """
        left = self._successors.get(producer)
        if not left or left.isdisjoint(consumers):
            return None
        worth, failed = self._worth, self._failed[producer]
        return [worth[c] / (1.0 + failed.get(c, 0)) ** 2 if c in left else 0.0 for c in consumers]

    def dtype(self, op: str, dtype: str) -> float:
        """How much it is worth that an operator's first input has an element type: 1 if no program has shown it, 0 if
        that is covered or not in the space.

        Args:
            op: name of the operator.
            dtype: name of the type, as ``FLOAT16``.
        """
        space = self._space.operators.get(op)
        return float(space is not None and dtype in space.dtypes and (op, "dtype", dtype) not in self._named["input"])

    def failed(self, producer: str, consumer: str) -> None:
        """Take note that no call of a consumer on what a producer gives was found: the pair is worth less from now on,
        but never nothing.
        """
        self._failed[producer][consumer] += 1

    def gained(self, criterion: str, *operators: str) -> None:
        """Take a feature off what is left, and add it to ``worth``; the operators no longer count as called in vain.

        Args:
            criterion: ``input``, ``parameter`` or ``sequence``.
            *operators: that show it: one, or producer and consumer of a sequence.
        """
        if criterion == "sequence":
            self._successors[operators[0]].discard(operators[1])
        else:
            self._own[operators[0]] -= 1
        self.worth += self._each[criterion]
        for op in operators:
            self._dry[op] = 0
            self._worth[op] = 1.0 + self._own[op]

    def state(self) -> dict[str, Any]:
        """What is covered, as ``Coverage.state`` gives it, and what was tried in vain: failed pairs, and calls of each
        operator since it last brought something.
        """
        failed = [[a, b, n] for a, found in sorted(self._failed.items()) for b, n in sorted(found.items()) if n]
        return {**super().state(), "failed": failed, "dry": dict(self._dry)}

    def absorb(self, state: Mapping[str, Any]) -> None:
        """Count what is covered; calls that brought nothing are asked for as seldom as before.

        Args:
            state: of a ``Frontier``, or of a ``Coverage``, which says nothing of what was tried in vain.
        """
        super().absorb(state)
        for first, second, times in state.get("failed", ()):
            self._failed[first][second] += times
        for op, times in state.get("dry", {}).items():
            self._in_vain(op, times)

    def _node(self, program: ProgramView, node: ir.Node) -> None:
        self._in_vain(node.op_type, 1)
        super()._node(program, node)

    def _in_vain(self, op: str, times: int) -> None:
        """An operator was called so often, and it is not known to have brought anything."""
        self._dry[op] += times
        if op in self._own:
            self._worth[op] = 1.0 + self._own[op] / (1.0 + self._dry[op])
