"""The values of a graph input that keep every operator it reaches within that operator's domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.generate.graph_inputs.operator_input_limits import Limit, NodeSizes, limit_at
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.spec import has_trait, names_input, trait_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

Step: TypeAlias = tuple[float, float, float]
"""From an element to what a user of it sees: factor, lowest addend, highest addend."""

MAX_VISITED = 400
"""How many uses are followed from one input; enough for any chain of casts and reshapes."""


class GraphInputLimits:
    """Looks up the limit of graph inputs of one program, under one choice of its named dimensions."""

    __slots__ = ("_exits", "_program", "_sizes")

    def __init__(self, program: Program, dims: Mapping[str, int]) -> None:
        self._program = program
        self._sizes = NodeSizes(program, dims)
        self._exits: dict[ir.Value, list[ir.Value]] | None = None

    def of(self, value: ir.Value) -> Limit | None:
        """The limit on the elements of a graph input, or ``None`` if anything of its type will do.

        Its uses are followed through casts, reshapes, arithmetic with constants, bodies and functions. If two uses
        exclude each other, the one that is met first wins.
        """
        found: Limit | None = None
        seen: set[int] = set()
        # offset_low, offset_high: what is added to an element on its way; scale: what it is multiplied with before.
        stack: list[tuple[ir.Value, float, float, float, bool]] = [(value, 1.0, 0.0, 0.0, True)]
        while stack and len(seen) < MAX_VISITED:
            current, scale, offset_low, offset_high, all_kept = stack.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            for node, index in current.uses():
                limit = limit_at(self._sizes, node, index)
                if limit is not None:
                    if current is not value:
                        limit = replace(limit, distinct=None)
                    found = _both(found, _pull_back(limit, scale, offset_low, offset_high, all_kept))
                kept = all_kept and has_trait(node, "keeps_order")
                for follow, (factor, low, high) in self._onward(node, index):
                    stack.append((follow, scale * factor, offset_low * factor + low, offset_high * factor + high, kept))
            if current.graph is not self._program.graph:
                stack += [(v, scale, offset_low, offset_high, all_kept) for v in self._outside(current)]
        return found

    def _outside(self, value: ir.Value) -> list[ir.Value]:
        """What a result of a body or function is called where the node that has it, or calls it, stands."""
        if self._exits is None:
            self._exits = {}
            functions = self._program.model.functions
            for graph in (self._program.graph, *functions.values()):
                for node in graph.all_nodes():
                    function = functions.get(node.op_identifier())
                    inside = [*bodies_of(node), *([] if function is None else [function])]
                    for body in inside:
                        first = 0 if body is function else trait_values("body_outputs_from").get(node.op_type, 0)
                        for inner, outer in zip(body.outputs[first:], node.outputs, strict=False):
                            self._exits.setdefault(inner, []).append(outer)
        return self._exits.get(value, [])

    def _onward(self, node: ir.Node, index: int) -> list[tuple[ir.Value, Step]]:
        """Values that hold the same elements, with (factor, lowest addend, highest addend)."""
        same = (1.0, 0.0, 0.0)
        op = node.op_type
        if node.domain not in ("", "ai.onnx"):
            function = self._program.model.functions.get(node.op_identifier())
            if function is not None and index < len(function.inputs):
                return [(function.inputs[index], same)]
            return []
        if has_trait(node, "carries"):
            return [(out, same) for out in node.outputs] if names_input("carries", op, index) else []
        if has_trait(node, "iterates") and index >= trait_values("body_inputs_from").get(op, 0):
            return _body(node, index, same)
        step = self._arithmetic(node, index)
        return [(node.outputs[0], step)] if step is not None else []

    def _arithmetic(self, node: ir.Node, index: int) -> Step | None:
        rule = _ARITHMETIC.get(node.op_type)
        other = node.inputs[1 - index] if rule is not None and len(node.inputs) == 2 else None
        bounds = None if other is None else self._bounds(other)
        return None if rule is None or bounds is None else rule(index, *bounds)

    def _bounds(self, value: ir.Value) -> tuple[float, float] | None:
        fact = self._program.fact(value)
        if isinstance(fact, TensorFact) and fact.low is not None and fact.high is not None:
            return fact.low, fact.high
        array = self._program.const_array(value)
        if array is None or array.size == 0 or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            return None
        return float(array.min()), float(array.max())


# Each of the four moves its elements by a rule of its own.
_ARITHMETIC: Mapping[str, Callable[[int, float, float], Step | None]] = {
    "Add": lambda index, low, high: (1.0, low, high),
    "Sub": lambda index, low, high: (1.0, -high, -low) if index == 0 else None,
    "Mul": lambda index, low, high: (high, 0.0, 0.0) if high > 0 and low >= 0 else None,
    "Div": lambda index, low, high: (1.0, 0.0, 0.0) if index == 0 and low >= 1 else None,
}
"""From the place of an operand and the bounds of the other one to the step; ``None`` if it has none."""


def _body(node: ir.Node, index: int, step: Step) -> list[tuple[ir.Value, Step]]:
    body = node.attributes.get("body")
    if not isinstance(body, ir.Attr) or body.type != ir.AttributeType.GRAPH:
        return []
    inputs = body.as_graph().inputs
    return [(inputs[index], step)] if index < len(inputs) else []


def _pull_back(limit: Limit, scale: float, offset_low: float, offset_high: float, all_kept: bool) -> Limit:
    """The limit on ``x`` where ``scale * x + [offset_low, offset_high]`` is limited."""
    if scale == 1.0 and not offset_low and not offset_high:
        if all_kept or limit.exact is None:
            return limit
        return Limit(min(limit.exact), max(limit.exact), whole=True)
    low = _edge(limit.low, offset_low, scale, math.ceil, -math.inf)
    high = _edge(limit.high, offset_high, scale, math.floor, math.inf)
    return Limit(low, max(low, high), whole=limit.whole)


def _edge(bound: float, offset: float, scale: float, whole: Callable[[float], int], none: float) -> float:
    """``(bound - offset) / scale`` as a whole number; ``none`` if that is no number or beyond what int64 holds."""
    if not math.isfinite(bound):
        return bound
    # A chain of small factors comes to 0 in the end, and then nothing is asked of x.
    edge = (bound - offset) / scale if scale else none
    return whole(edge) if abs(edge) < 2.0**62 else none


def _both(first: Limit | None, second: Limit) -> Limit:
    """What satisfies both; the first one if they exclude each other."""
    if first is None:
        return second
    low, high = max(first.low, second.low), min(first.high, second.high)
    if low > high:
        return first
    distinct = first.distinct if first.distinct == second.distinct else None
    exact = first.exact if first.exact is not None else second.exact
    return Limit(low, high, exact, distinct, first.whole or second.whole, signed=first.signed and second.signed)
