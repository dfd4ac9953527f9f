"""A program's whole numbers on some inputs, exactly, and which of them their type cannot hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.evaluation.exact_integer_rules import EXACT, MOVES, ON_THE_WAY
from irfuzz.ir.value import fact_of

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

MOST = 1 << 12
"""Elements of a tensor beyond which nothing is computed: each is one of Python's integers."""

REFUSED = (ValueError, TypeError, IndexError, KeyError, AssertionError, OverflowError, AttributeError)
"""What a rule raises for a call that breaks one of ONNX's."""


class ExactIntegers:
    """What a program computes in whole numbers on some inputs, without ever wrapping around unseen.

    Calls of the main graph are followed, as far as all that they read is known: fed, constant, or computed by such
    calls. Floating point is followed through moves alone, so what is computed from it is unknown.

    Args:
        program: its facts say the types.
        inputs: what is fed, by name.
    """

    __slots__ = ("_exceeded", "_known", "_program")

    def __init__(self, program: Program, inputs: Mapping[str, Any]) -> None:
        self._program = program
        self._known: dict[ir.Value, np.ndarray] = {}
        self._exceeded: dict[ir.Node, bool] = {}
        for value in program.graph.inputs:
            fed = inputs.get(value.name or "")
            if isinstance(fed, np.ndarray) and fed.size <= MOST and fed.dtype.kind in "iufb":
                self._known[value] = fed
        for node in program.graph:
            self._follow(node)

    def of(self, value: ir.Value | None) -> np.ndarray | None:
        """The elements of a value; ``None`` if they are not known.

        Integers are as a processor leaves them, modulo two to the number of bits of their type. Strings, complex
        numbers and tensors of more than ``MOST`` elements are never known.
        """
        if value is None:
            return None
        found = self._known.get(value)
        if found is None and not value.is_graph_input():
            fact = fact_of(value)
            size = fact.size() if isinstance(fact, TensorFact) else None
            if size is not None and size <= MOST:
                found = self._program.const_array(value)
        return found if found is not None and found.dtype.kind in "iufb" else None

    def exceeds(self, node: ir.Node) -> bool | None:
        """Whether a result of a node lies beyond its integer type; ``None`` if that is not known.

        For some operators intermediate results count as well (``ON_THE_WAY``).
        """
        return self._exceeded.get(node)

    @property
    def fit(self) -> bool:
        """Whether no result that is known lies beyond its type; true as well if none is known."""
        return not any(self._exceeded.values())

    def _follow(self, node: ir.Node) -> None:
        op = node.op_type
        rule = EXACT.get(op) or MOVES.get(op)
        if rule is None or node.domain not in ("", "ai.onnx"):
            return
        given = [self.of(value) for value in node.inputs]
        if any(array is None and value is not None for array, value in zip(given, node.inputs, strict=True)):
            return
        if op in EXACT and (not given or given[0] is None or given[0].dtype.kind not in "iu"):
            return
        attrs = self._program.attrs(node)
        if len(attrs) != len(node.attributes):
            return  # some are references to those of a function
        try:
            with np.errstate(all="ignore"):
                found = rule(attrs, given)
                way = ON_THE_WAY[op](attrs, given) if op in ON_THE_WAY else None
        except REFUSED:
            return
        rows = found if isinstance(found, list) else [] if found is None else [found]
        for value, array in zip(node.outputs, rows, strict=False):
            fact = fact_of(value)
            if (
                not isinstance(fact, TensorFact)
                or array.size > MOST
                or array.shape != (fact.static_shape or array.shape)
            ):
                continue
            if array.dtype != object:
                self._known[value] = array
                continue
            if not fact.dtype.is_integer() or fact.dtype.bitwidth < 8:
                continue
            limits = np.iinfo(fact.dtype.numpy())
            also = [] if way is None or isinstance(way, list) else [way]
            self._exceeded[node] = any(_beyond(a, limits) for a in (array, *also))
            self._known[value] = _wrapped(array, limits)


def _beyond(array: np.ndarray, limits: np.iinfo) -> bool:
    return bool(array.size) and not int(limits.min) <= int(array.min()) <= int(array.max()) <= int(limits.max)


def _wrapped(array: np.ndarray, limits: np.iinfo) -> np.ndarray:
    """As processors leave it: modulo two to the number of bits."""
    least, count = int(limits.min), int(limits.max) - int(limits.min) + 1
    return np.asarray((array - least) % count + least).astype(object).astype(limits.dtype)
