"""A node of a program with what was fed, and what is known of its elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Value
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.oracle.numeric.operator_value_bounds import UNBOUNDED, bounds_after, reads
from irfuzz.oracle.value_structure import numpy_dtype

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec.operator_spec import OpSpec


_DEPTH = 6
"""Operators behind each other through which bounds of floats are followed."""


@dataclass(frozen=True, slots=True)
class FedCall:
    """A node in its program, with what was fed.

    Attributes:
        used: values on which the judged output depends.
        integers: the whole numbers of this run, as far as they are known.
    """

    program: Program
    node: ir.Node
    spec: OpSpec
    inputs: Mapping[str, Value]
    used: set[ir.Value]
    integers: ExactIntegers

    def input(self, index: int) -> ir.Value | None:
        """An input's value; ``None`` if it is omitted, by an empty name or because the call has fewer inputs."""
        return self.node.inputs[index] if index < len(self.node.inputs) else None

    def array(self, index: int) -> np.ndarray | None:
        """The elements of an input, if it is a constant or was fed, or holds whole numbers computed from such."""
        return self._elements(self.input(index))

    def _elements(self, value: ir.Value | None) -> np.ndarray | None:
        if value is None:
            return None
        if value.is_graph_input() and value.name and value.name in self.inputs:
            fed = self.inputs[value.name]
            return fed if isinstance(fed, np.ndarray) else None
        constant = self.program.const_array(value)
        return self.integers.of(value) if constant is None else constant

    def dtype(self, value: ir.Value | None) -> np.dtype | None:
        """Element type of a value, if it is known.

        Returns:
            The numpy dtype in which targets hand the value over; ``None`` for an omitted input, for what is no tensor
            and for a tensor whose type inference left undefined.
        """
        fact = self.program.tensor(value)
        return None if fact is None or fact.dtype is ir.DataType.UNDEFINED else numpy_dtype(fact.dtype)

    def bounds(self, index: int) -> tuple[float, float]:
        """Lowest and highest element of an input, as far as is known; NaN makes both infinite.

        If the elements are known they are looked at, and an empty tensor gives ``(0.0, 0.0)``. Otherwise the bounds of
        the program's fact count, and those that follow for what is computed of known floats; infinite on each side on
        which they say nothing.
        """
        return self._bounds(self.input(index), _DEPTH)

    def _bounds(self, value: ir.Value | None, depth: int) -> tuple[float, float]:
        array = self._elements(value)
        if array is not None and array.dtype.kind not in "OUS":
            x = array.astype(np.float64)
            if np.isnan(x).any():
                return UNBOUNDED
            return (float(x.min()), float(x.max())) if x.size else (0.0, 0.0)
        fact = self.program.tensor(value)
        low = -np.inf if fact is None or fact.low is None else fact.low
        high = np.inf if fact is None or fact.high is None else fact.high
        least, most = self._computed(value, depth) if not (np.isfinite(low) and np.isfinite(high)) else UNBOUNDED
        return max(low, least), min(high, most)

    def _computed(self, value: ir.Value | None, depth: int) -> tuple[float, float]:
        """What the bounds of the operands say of a float."""
        node, dtype = None if value is None else value.producer(), self.dtype(value)
        if depth == 0 or node is None or node.domain not in ("", "ai.onnx") or dtype is None or not is_float(dtype):
            return UNBOUNDED
        places = reads(node.op_type, len(node.inputs))
        return bounds_after(node.op_type, [self._bounds(node.inputs[i], depth - 1) for i in places], dtype)
