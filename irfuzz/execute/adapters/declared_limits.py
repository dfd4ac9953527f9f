"""What a component says it does not take: a program that needs it is unsupported there, and none of its faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.errors import Unsupported
from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.ir.value import is_constant

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_INT32 = 2**31

LOST = "it computes int64 in int32, and there are larger numbers"


@dataclass(frozen=True, slots=True)
class DeclaredLimits:
    """Limits that a component's documentation or interface states. The default states none.

    Attributes:
        types: ONNX's names of the element types that it computes in (``FLOAT``); empty if it takes whatever it gets.
        tensors_only: it has no sequences, optionals and maps.
        scalars: it has tensors without dimensions, other than constants.
        empty: it has tensors without elements.
        int64_as_int32: it computes int64 in int32, so that larger numbers are lost, also on the way to an output.
        operators: of ONNX's own domain; empty if it takes whatever it gets.
        free_constants: ``types`` do not bind constants, which it reads when it converts (shapes, axes).
        most_axes: of a tensor other than a constant; 0 if there is no bound.
    """

    types: frozenset[str] = frozenset()
    tensors_only: bool = False
    scalars: bool = True
    empty: bool = True
    int64_as_int32: bool = False
    operators: frozenset[str] = frozenset()
    free_constants: bool = False
    most_axes: int = 0

    def check(self, component: str, program: Program, inputs: Mapping[str, Value]) -> None:
        """See that a program and its inputs need nothing that the component does not take.

        Args:
            component: its name, for the message.
            program: whose values have facts; what these do not tell is left to the component.
            inputs: by name.

        Raises:
            Unsupported: it needs an operator, an element type, a scalar, an empty tensor, a sequence or a number that
                is out of reach; the message names the value.
        """
        if self == NO_LIMITS:
            return
        if self.operators:
            self._check_operators(component, program.graph)
        for value in _values_in(program.graph):
            why = self._against_fact(program.tensor(value), value)
            if why:
                raise Unsupported(component, f"{value.name or 'a value'!r}", why)
        for name, given in inputs.items():
            why = self._against_array(given)
            if why:
                raise Unsupported(component, f"input {name!r}", why)
        if self.int64_as_int32 and any(_is_wide(program.tensor(value)) for value in _values_in(program.graph)):
            self._check_computed(component, program, inputs)

    def _check_computed(self, component: str, program: Program, inputs: Mapping[str, Value]) -> None:
        """Refuse what whole numbers become too large in; of what is computed from floating point nothing is known."""
        exact = ExactIntegers(program, inputs)
        for node in program.graph:
            for value in () if is_constant(node) else node.outputs:
                numbers = exact.of(value)
                if numbers is not None and _beyond_int32(numbers):
                    raise Unsupported(component, f"{value.name!r}", LOST)

    def _check_operators(self, component: str, graph: ir.Graph) -> None:
        for node in graph.all_nodes():
            if node.domain not in ("", "ai.onnx") or node.op_type not in self.operators:
                raise Unsupported(component, node.op_type, "its documentation does not list the operator")

    def _against_fact(self, fact: TensorFact | None, value: ir.Value) -> str:
        """Why a value is out of reach, by what is known of it before anything runs; empty if nothing says so."""
        if fact is None:
            return "it is no tensor" if self.tensors_only and value.type is not None else ""
        free = self.free_constants and _is_constant(value)
        if self.types and not free and fact.dtype is not ir.DataType.UNDEFINED and fact.dtype.name not in self.types:
            return f"it has no element type {fact.dtype.name}"
        if not self.scalars and fact.rank == 0 and not free and not value.is_initializer():
            return "it has no tensors without dimensions"
        if not self.empty and fact.shape is not None and 0 in fact.shape and not free:
            return "it has no tensors without elements"
        if self.most_axes and not free and (fact.rank or 0) > self.most_axes:
            return f"it has no tensors of more than {self.most_axes} axes"
        return ""

    def _against_array(self, value: Value) -> str:
        """The same of an input's own size and numbers."""
        if not isinstance(value, np.ndarray):
            return "it is no tensor" if self.tensors_only else ""
        if not self.empty and value.size == 0:
            return "it has no tensors without elements"
        return LOST if self.int64_as_int32 and _beyond_int32(value) else ""


NO_LIMITS = DeclaredLimits()
"""Of a component that decides for itself what it takes."""


def _is_wide(fact: TensorFact | None) -> bool:
    return fact is not None and fact.dtype in (ir.DataType.INT64, ir.DataType.UINT64)


def _beyond_int32(array: np.ndarray) -> bool:
    """Whether it has numbers of 64 bits that do not fit into 32."""
    wide = array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size > 0
    return bool(wide and (array.max() >= _INT32 or array.min() < -_INT32))


def _is_constant(value: ir.Value) -> bool:
    """Whether the model itself holds its elements, as an initializer or in a Constant node."""
    node = value.producer()
    return value.is_initializer() or (node is not None and is_constant(node))


def _values_in(graph: ir.Graph) -> Iterator[ir.Value]:
    """Inputs, initializers and node outputs, those of bodies included."""
    yield from graph.inputs
    yield from graph.initializers.values()
    for node in graph:
        yield from (value for value in node.outputs if value.name)
        for body in bodies_of(node):
            yield from _values_in(body)
