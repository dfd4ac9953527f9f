"""A node and one of its inputs enter, what that input may hold leaves: indices in range, shapes that fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.facts import TensorFact

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class Limit:
    """What a value may hold.

    Attributes:
        low: smallest allowed element.
        high: largest allowed element.
        exact: all elements in row-major order, where only one content is right (a shape).
        whole: only whole numbers make sense, also in a floating-point type.
        distinct: ``("axis", k)``: no element twice along axis ``k``; ``("rows", sizes)``: no row twice, column ``j`` in
            ``[0, sizes[j])``. Without it a scatter's result would depend on an order ONNX leaves open.
    """

    low: float = -math.inf
    high: float = math.inf
    exact: tuple[int, ...] | None = None
    distinct: tuple[str, int | tuple[int, ...]] | None = None
    whole: bool = False


# Inputs whose domain does not depend on any size. The operators' own text (onnx.defs) gives the domains.
_INTERVALS: Mapping[tuple[str, int], tuple[float, float]] = {
    ("BatchNormalization", 4): (0.1, 2.0),
    ("BitShift", 1): (0, 7),
    ("BlackmanWindow", 0): (1, 16),
    ("HammingWindow", 0): (1, 16),
    ("HannWindow", 0): (1, 16),
    ("ConstantOfShape", 0): (1, 3),
    ("Dropout", 1): (0.0, 0.75),
    ("DequantizeLinear", 1): (0.01, 0.1),
    ("Loop", 0): (1, 3),
    ("Pad", 1): (0, 1),
    ("QLinearConv", 1): (0.01, 0.1),
    ("QLinearConv", 4): (0.01, 0.1),
    ("QLinearConv", 6): (0.01, 0.1),
    ("QLinearMatMul", 1): (0.01, 0.1),
    ("QLinearMatMul", 4): (0.01, 0.1),
    ("QLinearMatMul", 6): (0.01, 0.1),
    ("QuantizeLinear", 1): (0.01, 0.1),
    ("Range", 0): (0, 2),
    ("Range", 1): (3, 6),
    ("Range", 2): (1, 2),
    ("SequenceAt", 1): (0, 0),
    ("SequenceErase", 1): (0, 0),
    ("SequenceInsert", 2): (0, 0),
    ("Slice", 3): (0, 0),
    ("Slice", 4): (1, 1),
    ("Tile", 1): (1, 2),
    ("Trilu", 1): (-1, 1),
}


class Sizes:
    """Sizes and constants around a node, under one choice of the program's named dimensions."""

    __slots__ = ("_dims", "_program")

    def __init__(self, program: Program, dims: Mapping[str, int]) -> None:
        self._program = program
        self._dims = dims

    def fact(self, node: ir.Node, index: int) -> TensorFact | None:
        """What is known of an input that is a tensor."""
        value = node.inputs[index] if index < len(node.inputs) else None
        fact = None if value is None else self._program.fact(value)
        return fact if isinstance(fact, TensorFact) else None

    def shape(self, node: ir.Node, index: int) -> tuple[int | None, ...] | None:
        """Sizes of an input, where its rank is known."""
        value = node.inputs[index] if index < len(node.inputs) else None
        return None if value is None else self.of(value)

    def of(self, value: ir.Value) -> tuple[int | None, ...] | None:
        """Sizes of a value, where its rank is known."""
        fact = self._program.fact(value)
        if not isinstance(fact, TensorFact) or fact.shape is None:
            return None
        return tuple(d if isinstance(d, int) else self._dims.get(d) if isinstance(d, str) else None for d in fact.shape)

    def dim(self, node: ir.Node, index: int, axis: int) -> int | None:
        """One size of an input."""
        shape = self.shape(node, index)
        return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None

    def length(self, node: ir.Node, index: int) -> int | None:
        """Number of elements of a one-dimensional input."""
        shape = self.shape(node, index)
        return shape[0] if shape else None

    def scalar(self, node: ir.Node, index: int) -> float | None:
        """First element of a constant input."""
        value = node.inputs[index] if index < len(node.inputs) else None
        array = None if value is None else self._program.const_array(value)
        return float(array.reshape(-1)[0]) if array is not None and array.size else None


def limit_at(sizes: Sizes, node: ir.Node, index: int) -> Limit | None:
    """What input ``index`` of ``node`` may hold; ``None`` where anything of its type will do."""
    if node.domain == "ai.onnx.ml" and node.op_type == "ArrayFeatureExtractor" and index == 1:
        return _index(sizes.dim(node, 0, -1))
    if node.domain not in ("", "ai.onnx"):
        return None
    fixed = _INTERVALS.get((node.op_type, index))
    if fixed is not None:
        return Limit(*fixed)
    rule = _RULES.get((node.op_type, index))
    return rule(sizes, node) if rule is not None else None


def _attribute(node: ir.Node, name: str, default: int) -> int:
    attr = node.attributes.get(name)
    return attr.as_int() if isinstance(attr, ir.Attr) else default


def _index(size: int | None) -> Limit:
    """Valid, non-negative indices (a negative one would not survive a cast to an unsigned type on its way)."""
    return Limit(0, max((size or 1) - 1, 0), whole=True)


def _along_axis(sizes: Sizes, node: ir.Node) -> Limit:
    return _index(sizes.dim(node, 0, _attribute(node, "axis", 0)))


def _scatter(sizes: Sizes, node: ir.Node) -> Limit:
    axis = _attribute(node, "axis", 0)
    limit = _index(sizes.dim(node, 0, axis))
    return replace(limit, distinct=("axis", axis))


def _nd(sizes: Sizes, node: ir.Node, batch: int) -> tuple[int, ...] | None:
    data, indices = sizes.shape(node, 0), sizes.shape(node, 1)
    if data is None or not indices or indices[-1] is None:
        return None
    return tuple(d or 1 for d in data[batch : batch + indices[-1]])


def _gather_nd(sizes: Sizes, node: ir.Node) -> Limit:
    indexed = _nd(sizes, node, _attribute(node, "batch_dims", 0))
    return _index(min(indexed) if indexed else None)


def _scatter_nd(sizes: Sizes, node: ir.Node) -> Limit:
    indexed = _nd(sizes, node, 0)
    limit = _index(min(indexed) if indexed else None)
    return replace(limit, distinct=("rows", indexed) if indexed else None)


def _one_hot(sizes: Sizes, node: ir.Node) -> Limit:
    depth = sizes.scalar(node, 1)
    return _index(int(depth) if depth is not None else None)


def _output_shape(sizes: Sizes, node: ir.Node) -> Limit:
    """The shape that inference already promises, or one that always fits."""
    out = sizes.of(node.outputs[0])
    if out is not None and all(d is not None for d in out):
        return Limit(1, 1, tuple(d for d in out if d is not None))
    length = sizes.length(node, 1)
    if node.op_type == "Reshape" and length:
        return Limit(-1, 1, (-1,) + (1,) * (length - 1))
    return Limit(1, 1)


def _split(sizes: Sizes, node: ir.Node) -> Limit:
    axis = _attribute(node, "axis", 0)
    size, count = sizes.dim(node, 0, axis), len(node.outputs)
    parts = [sizes.of(out) for out in node.outputs]
    known = [p[axis] for p in parts if p is not None and -len(p) <= axis < len(p)]
    if len(known) == count and all(k is not None for k in known):
        return Limit(0, size or 1, tuple(k for k in known if k is not None))
    if size is None:
        return Limit(1, 1)
    return Limit(0, size, tuple(size // count + (1 if i < size % count else 0) for i in range(count)))


def _slice_end(sizes: Sizes, node: ir.Node) -> Limit:
    shape = sizes.shape(node, 0) or ()
    return Limit(1, max(min((d or 1 for d in shape), default=1), 1))


def _slice_start(sizes: Sizes, node: ir.Node) -> Limit:
    return Limit(0, 0)


def _axes(sizes: Sizes, node: ir.Node) -> Limit:
    """Different axes, from the first on."""
    length = sizes.length(node, 1)
    rank = len(sizes.shape(node, 0) or ()) + ((length or 1) if node.op_type == "Unsqueeze" else 0)
    if length is None:
        return Limit(0, max(rank - 1, 0))
    if node.op_type == "Squeeze":
        ones = [i for i, d in enumerate(sizes.shape(node, 0) or ()) if d == 1]
        return Limit(0, max(rank - 1, 0), tuple((ones + [0] * length)[:length]))
    return Limit(0, max(rank - 1, 0), tuple(range(length)))


def _axis(sizes: Sizes, node: ir.Node) -> Limit:
    return _index(len(sizes.shape(node, 0) or ()) or None)


def _top_k(sizes: Sizes, node: ir.Node) -> Limit:
    return Limit(1, max(sizes.dim(node, 0, _attribute(node, "axis", -1)) or 1, 1))


def _sequence_lengths(sizes: Sizes, node: ir.Node) -> Limit:
    layout = _attribute(node, "layout", 0)
    return Limit(1, max(sizes.dim(node, 0, 1 if layout else 0) or 1, 1))


def _reversed_lengths(sizes: Sizes, node: ir.Node) -> Limit:
    return Limit(1, max(sizes.dim(node, 0, _attribute(node, "time_axis", 0)) or 1, 1))


def _class(sizes: Sizes, node: ir.Node) -> Limit:
    return _index(sizes.dim(node, 0, 1))


def _divisor(sizes: Sizes, node: ir.Node) -> Limit | None:
    fact = sizes.fact(node, 1)
    return Limit(1, 8) if fact is not None and fact.dtype.is_integer() else None


def _exponent(sizes: Sizes, node: ir.Node) -> Limit | None:
    fact = sizes.fact(node, 1)
    return Limit(0, 3) if fact is not None and fact.dtype.is_integer() else None


def _unpool(sizes: Sizes, node: ir.Node) -> Limit:
    out = sizes.of(node.outputs[0])
    size = math.prod(d or 1 for d in out) if out else 1
    return _index(size)


_RULES: Mapping[tuple[str, int], Callable[[Sizes, ir.Node], Limit | None]] = {
    ("Gather", 1): _along_axis,
    ("GatherElements", 1): _along_axis,
    ("GatherND", 1): _gather_nd,
    ("ScatterElements", 1): _scatter,
    ("Scatter", 1): _scatter,
    ("ScatterND", 1): _scatter_nd,
    ("OneHot", 0): _one_hot,
    ("OneHot", 1): lambda sizes, node: Limit(1, 8),
    ("Reshape", 1): _output_shape,
    ("Expand", 1): _output_shape,
    ("CenterCropPad", 1): lambda sizes, node: Limit(1, 4),
    ("Split", 1): _split,
    ("SplitToSequence", 1): _split,
    ("Slice", 1): _slice_start,
    ("Slice", 2): _slice_end,
    ("Squeeze", 1): _axes,
    ("Unsqueeze", 1): _axes,
    ("CumSum", 1): _axis,
    ("TopK", 1): _top_k,
    ("LSTM", 4): _sequence_lengths,
    ("GRU", 4): _sequence_lengths,
    ("RNN", 4): _sequence_lengths,
    ("ReverseSequence", 1): _reversed_lengths,
    ("NegativeLogLikelihoodLoss", 1): _class,
    ("SoftmaxCrossEntropyLoss", 1): _class,
    ("Div", 1): _divisor,
    ("Mod", 1): _divisor,
    ("Pow", 1): _exponent,
    ("MaxUnpool", 1): _unpool,
    **{
        (f"Reduce{kind}", 1): _axes
        for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
    },
}
