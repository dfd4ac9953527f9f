"""Follows a program from what it is fed, as far as rules alone decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Value
from irfuzz.facts import Fact, TensorFact
from irfuzz.ir.evaluation.exact_integer_evaluation import REFUSED, ExactIntegers
from irfuzz.ir.value import fact_of
from irfuzz.oracle.numeric.dtype_thresholds import is_float, smallest
from irfuzz.oracle.onnx_rules.known_elements import Elements, RuleCall
from irfuzz.oracle.onnx_rules.rule_table import RULES
from irfuzz.oracle.value_structure import numpy_dtype
from irfuzz.spec import trait_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

MOST = 1 << 14
"""Elements of a tensor beyond which nothing is followed."""


class DecidedValues:
    """The elements of a run that ONNX's rules decide.

    Calls of the main graph are followed, if their operator has a rule. Whole numbers that depend on no floats come
    from exact arithmetic.

    Args:
        program: its facts say the types; calls of functions are written out.
        inputs: what is fed, by name.
        integers: the whole numbers of the same run.
    """

    __slots__ = ("_integers", "_known", "_program")

    def __init__(self, program: Program, inputs: Mapping[str, Value], integers: ExactIntegers) -> None:
        self._program = program
        self._integers = integers
        self._known: dict[ir.Value, Elements] = {}
        for value in program.graph.inputs:
            fed = inputs.get(value.name or "")
            if isinstance(fed, np.ndarray) and fed.size <= MOST:
                self._keep(value, _given(fed))
        for node in program.graph:
            if node.domain in ("", "ai.onnx"):
                self._follow(node)

    def of(self, value: ir.Value | None) -> Elements | None:
        """What is known of a value; ``None`` if that is nothing.

        Args:
            value: of the program; an omitted input, ``None``, is not known.

        Returns:
            What the rules gave for it; else its elements if it is a constant of at most ``MOST`` elements.
        """
        if value is None:
            return None
        found = self._known.get(value)
        if found is None and not value.is_graph_input():
            fact = fact_of(value)
            size = fact.size() if isinstance(fact, TensorFact) else None
            constant = self._program.const_array(value) if size is not None and size <= MOST else None
            if constant is not None:
                self._keep(value, _given(constant))
                found = self._known.get(value)
        return found

    def _keep(self, value: ir.Value, elements: Elements | None) -> None:
        if elements is not None and elements.decided.shape == elements.values.shape:
            self._known[value] = elements

    def _follow(self, node: ir.Node) -> None:
        given = [self.of(v) for v in node.inputs]
        if any(e is None and v is not None for e, v in zip(given, node.inputs, strict=True)):
            return
        facts = [fact_of(v) for v in node.outputs]
        for value, elements, fact in zip(node.outputs, self._outputs(node, given, facts), facts, strict=False):
            if elements is None or not isinstance(fact, TensorFact) or elements.values.size > MOST:
                continue
            shape, dtype = elements.values.shape, _dtype(fact)
            if dtype is not None and shape == (fact.static_shape or shape):
                self._keep(value, _of_type(elements, dtype))

    def _outputs(
        self, node: ir.Node, given: Sequence[Elements | None], facts: Sequence[Fact | None]
    ) -> Sequence[Elements | None]:
        attrs = self._program.attrs(node)
        if len(attrs) != len(node.attributes):
            return ()  # some are references to those of a function
        found = None
        name = trait_values("decided").get(node.op_type)
        if name is not None:
            call = RuleCall(node.op_type, attrs, self._program.inference.opset(node.domain), tuple(map(_dtype, facts)))
            try:
                with np.errstate(all="ignore"):
                    found = RULES[name](call, given)
            except (*REFUSED, ZeroDivisionError, NotImplementedError):
                return ()
        if found is None and all(e is None or (e.known and not e.of_floats) for e in given):
            if self._integers.exceeds(node):
                return ()
            whole = [self._integers.of(v) for v in node.outputs]
            return [None if a is None else Elements.whole(a) for a in whole]
        return [found] if isinstance(found, Elements) else found or ()


def _dtype(fact: Fact | None) -> np.dtype | None:
    if not isinstance(fact, TensorFact) or fact.dtype is ir.DataType.UNDEFINED:
        return None
    return numpy_dtype(fact.dtype)


def _given(array: np.ndarray) -> Elements | None:
    """What is fed or constant; subnormal numbers are open, for some components take them for zero."""
    if array.dtype.kind in "iub":
        return Elements.whole(array)
    if not is_float(array.dtype):
        return None
    return _of_type(Elements.whole(array.astype(np.float64)), array.dtype)


def _of_type(elements: Elements, dtype: np.dtype) -> Elements | None:
    """Elements as they are in a type; ``None`` if they are of another kind."""
    if is_float(dtype):
        values = elements.values.astype(np.float64)
        normal = (values == 0) | ~(np.abs(values) < smallest(dtype))
        return Elements(values, elements.decided & normal, elements.choice)
    if dtype.kind not in "iub" or elements.values.dtype.kind not in "iub":
        return None
    return Elements(elements.values.astype(dtype), elements.decided, elements.choice)
