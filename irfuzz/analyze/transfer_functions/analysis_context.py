"""What a transfer function may ask while it computes the abstract values of a node's outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.analyze.abstract_domain.affine_relations import LinearForm
from irfuzz.analyze.abstract_domain.interval import INF, TOP, Range
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat, format_of
from irfuzz.analyze.abstract_domain.partitioned_tensor import Grid, Partition, Tensor, constant_of
from irfuzz.export.source.emitter_context import attribute_defaults
from irfuzz.facts import Dim, TensorFact, tensors_in
from irfuzz.ir.program_view import ProgramView
from irfuzz.ir.trainable_parameters import parameters_of

Inputs: TypeAlias = Sequence["Tensor | None"]
Transfer: TypeAlias = Callable[["AnalysisContext", ir.Node, Inputs], "list[Tensor]"]

MOST_ELEMENTS = 1 << 16
"""Constants up to this size are split at the channel, folded or compared exactly."""


class AnalysisContext:
    """Answers for one analysis.

    Attributes:
        view: the program.
        grid: partitions and symbols.
        opset: version of the default domain.
        parameters: names of the initializers that training changes, ``None`` if the model does not say which.
    """

    __slots__ = ("grid", "opset", "parameters", "view")

    def __init__(self, view: ProgramView, grid: Grid) -> None:
        self.view = view
        self.grid = grid
        self.opset = view.opset
        self.parameters = parameters_of(view.model)

    def attr(self, node: ir.Node, name: str, default: Any = None) -> Any:
        """An attribute: the node's, else the operator's default at this opset, else ``default``.

        Args:
            node: a reference to an attribute of a function counts as not given.
            name: of the attribute.
            default: for attributes that are not given and have no default in ONNX.

        Returns:
            Its value; lists come as tuples.
        """
        found = node.attributes.get(name)
        if found is not None and not found.is_ref():
            value = found.value
            return tuple(value) if isinstance(value, list | tuple) else value
        known = self.defaults(node).get(name)
        return default if known is None else known

    def defaults(self, node: ir.Node) -> Mapping[str, Any]:
        """Default values of a node's attributes by name, as ONNX defines the operator at the program's opset."""
        return attribute_defaults(node.domain, node.op_type, self.opset)

    def key(self, node: ir.Node) -> tuple[Any, ...]:
        """What decides a call besides its inputs: the operator, and names and values of the attributes that are given,
        sorted by name.

        It is hashable, so it can be part of a symbol.
        """
        return (node.op_type, *sorted((n, repr(a.value)) for n, a in node.attributes.items()))

    def fact(self, node: ir.Node, index: int = 0) -> TensorFact | None:
        """What is known of an output's type and shape; of a sequence what holds for its tensors.

        Args:
            node: of the program.
            index: of the output.

        Returns:
            ``None`` if nothing is known.
        """
        return tensors_in(self.view.fact(node.outputs[index]))

    def shape(self, node: ir.Node, index: int = 0) -> tuple[Dim, ...] | None:
        """Sizes of an output: numbers, names, or ``None`` for open ones; ``None`` instead of them if the rank is
        unknown.
        """
        fact = self.fact(node, index)
        return None if fact is None else fact.shape

    def dtype(self, node: ir.Node, index: int = 0) -> ir.DataType | None:
        """Element type of the output at ``index``, for a sequence that of its tensors; ``None`` if it is unknown."""
        fact = self.fact(node, index)
        return None if fact is None else fact.dtype

    def format(self, node: ir.Node, index: int = 0) -> NumberFormat:
        """Number format of the output at ``index``, which bounds what it may hold; ``ANYTHING`` if its type
        is unknown.
        """
        return format_of(self.dtype(node, index))

    def plain(self, node: ir.Node, bounds: Range, index: int = 0) -> Tensor:
        """An output of which only type, shape and range are known: one partition that is related to nothing.

        Args:
            node: whose output it is.
            bounds: of all elements.
            index: of the output.
        """
        return self.grid.plain(self.dtype(node, index), self.shape(node, index), bounds)

    def top(self, node: ir.Node, index: int = 0) -> Tensor:
        """The output at ``index`` as one of which nothing is known but its type: any number that it holds, and for
        floating point infinities and NaN.
        """
        return self.plain(node, whole(self.format(node, index)), index)

    def rest(self, node: ir.Node) -> list[Tensor]:
        """The outputs after the first, of which nothing is known but their types; empty if the node has only one."""
        return [self.top(node, index) for index in range(1, len(node.outputs))]

    def related(self, node: ir.Node, parts: Sequence[Partition], bounds: Range, *more: Any) -> Partition:
        """A partition that is a function of others, element by element: the same call on equal partitions gives an
        equal one, unless only intervals are kept.

        Args:
            node: its operator and attributes are part of what decides.
            parts: of the operands, in order.
            bounds: of the result.
            *more: what else decides, hashable.
        """
        args = (*self.key(node)[1:], *more, *(p.symbol for p in parts))
        return self.grid.part(self.grid.symbols.make(node.op_type, args, bounds))

    def array(self, tensor: Tensor | None) -> np.ndarray | None:
        """The elements of a constant, not copied; ``None`` for an absent input and for what is no constant."""
        return None if tensor is None else tensor.array

    def constant(self, array: np.ndarray, dtype: ir.DataType | None, value: ir.Value) -> Tensor:
        """A constant as an abstract tensor of one partition, with its elements if they are real numbers.

        Args:
            array: its elements; of strings and complex ones nothing is said but ``TOP``.
            dtype: its element type in ONNX.
            value: holds it, and tells it from other constants (names may recur in bodies).
        """
        shape = tuple(int(d) for d in array.shape)
        numeric = (array.dtype != object and array.dtype.kind in "biufV") or array.dtype.kind not in "OSUc"
        if not numeric:
            return self.grid.plain(dtype, shape, TOP)
        bounds = measured(array)
        if bounds.point:
            part = self.number(bounds.low, dtype, shape, value)
        else:
            part = self.grid.part(self.grid.symbols.make("initializer", (value,), bounds))
        return Tensor(dtype, shape, ((),) * len(shape), (part,), array)

    def number(
        self, number: float, dtype: ir.DataType | None, shape: tuple[Dim, ...] | None, value: ir.Value
    ) -> Partition:
        """The partition of a tensor whose elements are one number.

        What is computed from it depends on its type and sizes too: ``7 / 2``, and the sum of three ones or five.

        Args:
            number: equal numbers of equal type and sizes share one symbol.
            dtype: of the tensor.
            shape: of the tensor.
            value: stands in for the sizes if they are not all known.
        """
        sized = value if shape is None or None in shape else shape
        symbol = self.grid.symbols.make("constant", (number, dtype, sized), Range(number, number))
        return Partition(symbol.range, symbol, LinearForm((), number))

    def identity(self, node: ir.Node, tensor: Tensor, part: Partition) -> tuple[Any, ...]:
        """What tells a partition from others for an operator that combines its elements, as a part of a symbol's
        arguments.

        A number is not told by its symbol alone: repeated, it keeps it. So for one the tensor's shape is added, or the
        node's first output if sizes are unknown.
        """
        if constant_of(part) is None:
            return (part.symbol,)
        known = tensor.shape is not None and None not in tensor.shape
        return (part.symbol, tensor.shape if known else node.outputs[0])


def operand(inputs: Inputs, index: int = 0) -> Tensor:
    """An input that an operator always has, by its index; every valid model has it, so that absence is an error
    of the analysis.
    """
    tensor = inputs[index]
    assert tensor is not None
    return tensor


def measured(array: np.ndarray) -> Range:
    """The range of an array's elements; ``[0, 0]`` if it has none.

    Args:
        array: of numbers; types that NumPy lacks, such as bfloat16, are widened to float32. If it holds NaN, the bounds
            are those of its other elements.
    """
    if not array.size:
        return Range(0.0, 0.0)
    wide = array if array.dtype.kind in "biuf" else array.astype(np.float32)
    if wide.dtype == np.float16:
        wide = wide.astype(np.float32)
    with np.errstate(invalid="ignore"):
        low, high = float(wide.min()), float(wide.max())
    if low != low or high != high:
        numbers = wide[~np.isnan(wide)]
        low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
        return Range(low, high, nan=True)
    nonzero = low <= 0 <= high and bool(np.all(wide != 0))
    return Range(low, high, nonzero=nonzero)


def whole(form: NumberFormat) -> Range:
    """Everything that an element type holds, as a loose range: with infinities and NaN for floating point, else from
    the lowest to the biggest integer.
    """
    if not form.floating:
        return Range(form.lowest, form.biggest, loose=True)
    return Range(-INF, INF, nan=True, loose=True)


def any_finite(form: NumberFormat) -> Range:
    """Every finite number of an element type: what an input may be of which nothing is said.

    The range is loose: overflows that rest on it are listed as unproved, not warned of.
    """
    return Range(form.lowest, form.biggest, loose=True)
