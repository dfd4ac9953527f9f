"""Keeps what is drawn within limits: operators, element types and ranks that a user allows, and what targets take.

Draws are steered (``Steered``, ``SteeredGaps``), and each edit is looked at after it was made
(``DrawingLimits.broken``). Neither changes what a recorded draw means, so traces replay without limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.value import fact_of, is_constant
from irfuzz.mutate.call_traits import OUTPUT, traits
from irfuzz.mutate.feature_counts import Feature

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.mutate.mutator_context import CoverageGaps, Novelty

UNWANTED = 1e-9
"""What a draw is worth that leads beyond a limit: next to nothing, but it can be made if nothing else is left."""


def _takes_all(_: Feature) -> bool:
    return False


@dataclass(slots=True)
class DrawingLimits:
    """Which programs may be drawn.

    Attributes:
        ops: the only operators; all if ``None``. ``Constant`` counts as none.
        dtypes: the only element types of inputs and of what is computed; all if empty. Constants may have others.
        max_rank: of any value; no limit if ``None``.
        refused: whether targets are known to refuse a feature (``call_traits``).
        exploring: what targets refuse may be drawn for now.
        gentle: while exploring all is as if there were no refusals; else programs are made in the way that suits
            targets which take little.
        whole: edits are judged by the whole program, not only by what they touched; so that what was there before
            has to go.
    """

    ops: frozenset[str] | None = None
    dtypes: frozenset[ir.DataType] = frozenset()
    max_rank: int | None = None
    refused: Callable[[Feature], bool] = _takes_all
    exploring: bool = field(default=False, compare=False)
    gentle: bool = field(default=False, compare=False)
    whole: bool = field(default=False, compare=False)

    def __bool__(self) -> bool:
        """Whether there is a limit to what is drawn now."""
        return self._said or (self.refused is not _takes_all and not (self.gentle and self.exploring))

    @property
    def ever(self) -> bool:
        """Whether there is a limit to any program."""
        return self._said or self.refused is not _takes_all

    @property
    def _said(self) -> bool:
        return bool(self.ops is not None or self.dtypes or self.max_rank is not None)

    def forbids(self, feature: Feature) -> bool:
        """Whether a call that shows a feature is beyond a limit.

        Args:
            feature: as ``feature_counts`` and ``call_traits`` name it; others are forbidden for their operator alone,
                or never.
        """
        kind = feature[0]
        if kind == "edge":
            return self._forbids_operator(feature[2])
        if kind in _OF_OPERATORS and self._forbids_operator(feature[1]):
            return True
        if kind == "dtype" and self.dtypes and feature[2] in (OUTPUT, 0):
            return ir.DataType(feature[3]) not in self.dtypes or self._is_refused(feature)  # type: ignore[arg-type]
        if kind == "rank" and self.max_rank is not None and feature[3] > self.max_rank:  # type: ignore[operator]
            return True
        return self._is_refused(feature)

    def _forbids_operator(self, op: object) -> bool:
        return (self.ops is not None and op not in self.ops) or self._is_refused(("operator", op))

    def _is_refused(self, feature: Feature) -> bool:
        return not self.exploring and self.refused(feature)

    def why_not(self, program: Program, nodes: Iterable[ir.Node] | None = None) -> str:
        """Why a program may not be drawn; empty if it may.

        Args:
            program: of which nothing is changed.
            nodes: of its main graph; all, and the graph's inputs, if ``None``.
        """
        if not self:
            return ""
        for _, feature in traits(program, nodes):
            if self.forbids(feature):
                return f"beyond the limits: {' '.join(map(str, feature))}"
        return self._value_beyond(program, nodes) if self.dtypes or self.max_rank is not None else ""

    def _value_beyond(self, program: Program, nodes: Iterable[ir.Node] | None) -> str:
        """A value of another type or a higher rank."""
        own = list(program.graph if nodes is None else nodes)
        made = [v for node in own if not is_constant(node) for v in node.outputs]
        for value in (*program.graph.inputs, *made):
            fact = fact_of(value)
            if isinstance(fact, TensorFact) and self.dtypes and fact.dtype not in self.dtypes:
                return f"beyond the limits: {value.name} is of {fact.dtype.name.lower()}"
        for value in (*program.graph.inputs, *made, *(v for node in own for v in node.inputs if v is not None)):
            fact = fact_of(value)
            rank = fact.rank if isinstance(fact, TensorFact) else None
            if self.max_rank is not None and rank is not None and rank > self.max_rank:
                return f"beyond the limits: {value.name} is of rank {rank}"
        return ""

    def mark(self, program: Program) -> None:
        """Nothing is to be remembered of a program before an edit."""

    def broken(self, program: Program, before: None) -> str:  # noqa: ARG002 - the engine's protocol
        """Which limit an edit breaks; empty if it breaks none.

        Args:
            program: after the edit.
            before: what ``mark`` gave.
        """
        return self.why_not(program, None if self.whole else list(program.touched))


_OF_OPERATORS = frozenset({"operator", "op", "dtype", "rank", "attr", "alone", "call"})


class Steered:
    """``Novelty`` in which what is beyond a limit is worth next to nothing.

    Args:
        seen: says what everything is worth without limits.
        limits: are asked at each draw.
    """

    def __init__(self, seen: Novelty, limits: DrawingLimits) -> None:
        self._seen = seen
        self._limits = limits

    def weight(self, feature: Feature) -> float:
        """As without limits, or ``UNWANTED`` of that."""
        if feature[0] == "alone" and len(feature) == 4:
            _, op, _, dtype = feature
            beyond = any(map(self._limits.forbids, [("dtype", op, 0, dtype), ("input", dtype)]))
        else:
            beyond = self._limits.forbids(feature)
        return self._seen.weight(feature) * (UNWANTED if beyond else 1.0)


class SteeredGaps:
    """``CoverageGaps`` in which what is beyond a limit is worth next to nothing.

    Args:
        gaps: says what everything is worth without limits.
        limits: are asked at each draw.
    """

    def __init__(self, gaps: CoverageGaps, limits: DrawingLimits) -> None:
        self._gaps = gaps
        self._limits = limits

    def _share(self, op: str) -> float:
        return UNWANTED if self._limits.forbids(("operator", op)) else 1.0

    def call(self, op: str) -> float:
        """What a call of an operator is worth."""
        return self._gaps.call(op) * self._share(op)

    def pair(self, producer: str, consumer: str) -> float:
        """What it is worth that one operator reads what another gives."""
        return self._gaps.pair(producer, consumer) * self._share(consumer)

    def pairs(self, producer: str, consumers: Sequence[str]) -> list[float] | None:
        """What ``pair`` says of each consumer; ``None`` if all that is within the limits is worth nothing."""
        worths = self._gaps.pairs(producer, consumers)
        if worths is None:
            return None
        within = [w * (not self._limits.forbids(("operator", c))) for w, c in zip(worths, consumers, strict=True)]
        return within if any(within) else None

    def dtype(self, op: str, dtype: str) -> float:
        """What it is worth that an operator's first input has an element type."""
        beyond = self._limits.forbids(("dtype", op, 0, ir.DataType[dtype].value))
        return 0.0 if beyond else self._gaps.dtype(op, dtype)

    def failed(self, producer: str, consumer: str) -> None:
        """Pass on that no such call was found."""
        self._gaps.failed(producer, consumer)
