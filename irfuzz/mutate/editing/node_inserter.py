"""Inserts wanted operations, as the program's opset spells them, before one place in the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.inference.graph_facts import constant_fact
from irfuzz.ir.serialization.preserved_unsupported_fields import FREE_INITIALIZERS
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.spec import load_specs

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@lru_cache(maxsize=4096)
def _integers(values: tuple[int, ...]) -> tuple[ir.Tensor, TensorFact]:
    """A list of axes, sizes or pads: nobody changes a tensor, so equal ones are the same.

    Raises:
        InvalidProgram: one is beyond int64, since what it was computed from can hardly be held.
    """
    try:
        tensor = ir.Tensor(np.array(values, np.int64))
    except OverflowError:
        raise InvalidProgram(f"a size of {max(values, key=abs)} is beyond int64") from None
    return tensor, constant_fact(tensor)


class Inserter:
    """Inserts nodes before ``before`` (``None``: at the end), and knows how old opsets spell each operation.

    Facts are those of dense tensors of known rank; every method returns the new value.
    """

    __slots__ = ("before", "opset", "program")

    def __init__(self, program: Program, before: ir.Node | None) -> None:
        self.program = program
        self.before = before
        self.opset = program.opset

    def node(
        self,
        op: str,
        inputs: Sequence[ir.Value | None],
        attrs: Mapping[str, Any] | None = None,
        outputs: int = 1,
        domain: str = "",
    ) -> ir.Node:
        """Insert a node, of the default domain unless another one that the program imports is given, and infer it.

        Args:
            op: operator type, as the program's opset has it.
            inputs: ``None`` for an omitted one.
            attrs: Python values or ``ir.Attr`` by name.
            outputs: how many it has.
            domain: the operator's.

        Raises:
            InvalidProgram: ONNX finds the call ill-typed.
        """
        return self.program.insert(op, inputs, attrs, before=self.before, outputs=outputs, domain=domain)

    def value(self, op: str, *inputs: ir.Value | None, **attrs: Any) -> ir.Value:
        """The only output of a new node.

        Example: ``inserter.value("Transpose", x, perm=[1, 0])``.
        """
        return self.node(op, inputs, attrs).outputs[0]

    def fact(self, value: ir.Value) -> TensorFact:
        """The fact of a dense tensor; ``InvalidProgram`` is raised if it is none."""
        return tensor_fact(self.program, value)

    def constant(self, array: np.ndarray | ir.TensorProtocol, hint: str = "c") -> ir.Value:
        """A new initializer with these elements, of the array's type and shape; its name begins with ``hint``. A model
        of IR version 3, which would list it among its inputs, becomes one of version 4.
        """
        self._allow_initializers()
        return self.program.constant(array, hint)

    def ints(self, values: Sequence[int]) -> ir.Value:
        """A constant ``int64`` list of one axis, as axes, sizes and pads are given; equal lists share their tensor."""
        self._allow_initializers()
        tensor, fact = _integers(tuple(values))
        return self.program.constant(tensor, "shape", fact)

    def scalar(self, number: float, dtype: ir.DataType) -> ir.Value:
        """A constant without dimensions: the number, converted to an element type as NumPy does it."""
        return self.constant(np.array(number).astype(dtype.numpy()), "s")

    def _allow_initializers(self) -> None:
        if self.program.model.ir_version < FREE_INITIALIZERS:
            self.program.model.ir_version = FREE_INITIALIZERS

    def cast(self, value: ir.Value, dtype: ir.DataType) -> ir.Value:
        """``Cast`` without any guard: floats beyond an integer type's range give what ONNX leaves open
        (``value_adaptation.cast``).
        """
        return self.value("Cast", value, to=int(dtype.value))

    def reshape(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """``Reshape`` to sizes of which 0 copies the size at its index and -1 stands for what is left."""
        return self.value("Reshape", value, self.ints(shape))

    def unsqueeze(self, value: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Insert sizes of 1 at ``axes``, which count in the result: ``[2, 3]`` with axes 0 and 3 becomes ``[1, 2, 3,
        1]``.
        """
        return self._with_axes("Unsqueeze", value, axes)

    def squeeze(self, value: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Drop the axes ``axes`` of the value, each of which has size 1: ``[1, 2, 1]`` without axes 0 and 2 becomes
        ``[2]``.
        """
        return self._with_axes("Squeeze", value, axes)

    def slice(
        self,
        value: ir.Value,
        axes: Sequence[int],
        starts: Sequence[int],
        ends: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> ir.Value:
        """``value[start:end:step]`` along each of ``axes``; steps need opset 10, below which they are left out.

        Args:
            value: a dense tensor.
            axes: those that are sliced.
            starts: for each of them the first index.
            ends: for each the index behind the last one; a large one means the end.
            steps: for each; 1 if omitted.
        """
        if self.opset < 10:
            return self.value("Slice", value, axes=list(axes), starts=list(starts), ends=list(ends))
        rest = [self.ints(steps)] if steps is not None else []
        return self.value("Slice", value, self.ints(starts), self.ints(ends), self.ints(axes), *rest)

    def pad(self, value: ir.Value, before: Sequence[int], after: Sequence[int], mode: str = "constant") -> ir.Value:
        """Add elements at both ends of every axis.

        Args:
            value: a dense tensor.
            before: number of elements in front, for each axis.
            after: number of elements behind.
            mode: as ONNX names it; ``constant`` adds zeros.
        """
        pads = [*before, *after]
        if self.opset < 11:
            return self.value("Pad", value, pads=pads, mode=mode)
        return self.value("Pad", value, self.ints(pads), mode=mode)

    def tile(self, value: ir.Value, repeats: Sequence[int]) -> ir.Value:
        """Repeat along every axis; ``repeats`` has a number for each, 1 for an axis that stays."""
        return self.value("Tile", value, self.ints(repeats))

    def reduce(self, op: str, value: ir.Value, axes: Sequence[int], keepdims: bool = True) -> ir.Value:
        """``ReduceMax`` and its like over ``axes``, which are an attribute or an input as the opset wants it; with
        ``keepdims`` they stay with size 1.
        """
        return self._with_axes(op, value, axes, keepdims=int(keepdims))

    def expand(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """Broadcast to ``shape`` as ``Expand`` does; a size of 1 keeps the value's own, so named sizes need not be
        said.
        """
        return self.value("Expand", value, self.ints(shape))

    def clip(self, value: ir.Value, low: float, high: float) -> ir.Value:
        """Limit a tensor to ``[low, high]``, both ends included; both are attributes below opset 11 and constants from
        there on.
        """
        if self.opset < 11:
            return self.value("Clip", value, min=float(low), max=float(high))
        dtype = self.fact(value).dtype
        return self.value("Clip", value, self.scalar(low, dtype), self.scalar(high, dtype))

    def _with_axes(self, op: str, value: ir.Value, axes: Sequence[int], **attrs: Any) -> ir.Value:
        """``axes`` is an attribute or an input, as the opset has it."""
        spec = load_specs().get(op, self.opset)
        if spec is not None and "axes" in spec.attrs:
            return self.value(op, value, axes=list(axes), **attrs)
        return self.value(op, value, self.ints(axes), **attrs)
