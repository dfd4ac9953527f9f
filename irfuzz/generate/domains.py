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
        order: how elements follow each other along the last axis, one of ``input_domain.ORDERS``; empty: in no way.
    """

    low: float = -math.inf
    high: float = math.inf
    exact: tuple[float, ...] | None = None
    distinct: tuple[str, int | tuple[int, ...]] | None = None
    whole: bool = False
    order: str = ""


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
    ("QLinearConv", 1): (0.01, 0.1),
    ("QLinearConv", 4): (0.01, 0.1),
    ("QLinearConv", 6): (0.01, 0.1),
    ("QLinearMatMul", 1): (0.01, 0.1),
    ("QLinearMatMul", 4): (0.01, 0.1),
    ("QLinearMatMul", 6): (0.01, 0.1),
    ("QuantizeLinear", 1): (0.01, 0.1),
    ("MelWeightMatrix", 0): (2, 8),
    ("MelWeightMatrix", 1): (16, 32),
    ("MelWeightMatrix", 2): (8000, 16000),
    ("MelWeightMatrix", 3): (0, 100),
    ("MelWeightMatrix", 4): (1000, 4000),
    ("GridSample", 1): (-1.25, 1.25),
    ("NonMaxSuppression", 2): (1, 3),
    ("NonMaxSuppression", 3): (0, 1),
    ("NonMaxSuppression", 4): (0, 1),
    ("Range", 0): (0, 2),
    ("Range", 1): (3, 6),
    ("Range", 2): (1, 2),
    ("SequenceAt", 1): (0, 0),
    ("SequenceErase", 1): (0, 0),
    ("SequenceInsert", 2): (0, 0),
    ("Slice", 4): (1, 1),
    ("STFT", 1): (1, 4),
    ("Tile", 1): (1, 2),
    ("Trilu", 1): (-1, 1),
}


class Sizes:
    """Sizes and constants around a node, under one choice of the program's named dimensions."""

    __slots__ = ("_dims", "_program")

    def __init__(self, program: Program, dims: Mapping[str, int]) -> None:
        self._program = program
        self._dims = dims

    def is_opaque(self, node: ir.Node) -> bool:
        """Whether nothing defines the node's operator."""
        return self._program.inference.is_opaque(node)

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
        fact = sizes.fact(node, index)
        # What nothing is known of takes integers as masks, flags, positions or rows of a table that has two at least.
        counts = fact is not None and fact.dtype.is_integer() and fact.dtype.bitwidth > 8 and sizes.is_opaque(node)
        return Limit(0, 1) if counts else None
    fixed = _INTERVALS.get((node.op_type, index))
    if fixed is not None:
        return Limit(*fixed)
    rule = _RULES.get((node.op_type, index))
    return rule(sizes, node) if rule is not None else None


def _attribute(node: ir.Node, name: str, default: int) -> int:
    attr = node.attributes.get(name)
    return attr.as_int() if isinstance(attr, ir.Attr) and not attr.is_ref() else default


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
    """Parts that make up the whole: as inference promises, or as equal as they can be."""
    axis = _attribute(node, "axis", 0)
    size, count = sizes.dim(node, 0, axis), len(node.outputs)
    if node.op_type == "SplitToSequence":
        count = sizes.length(node, 1) or 0
        if not sizes.shape(node, 1):
            return Limit(1, max(size or 1, 1), whole=True)
    if size is None or not count:
        return Limit(1, 1)
    parts = [sizes.of(out) for out in node.outputs] if node.op_type == "Split" else []
    known = [p[axis] for p in parts if p is not None and -len(p) <= axis < len(p)]
    if len(known) == count and all(k is not None for k in known):
        return Limit(0, size, tuple(k for k in known if k is not None))
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


def _later_axes(sizes: Sizes, node: ir.Node, index: int) -> Limit:
    """Different axes given beside a starts, pads or lengths input."""
    rank, length = len(sizes.shape(node, 0) or ()), sizes.length(node, index)
    return Limit(0, max(rank - 1, 0), None if length is None else tuple(range(length)), whole=True)


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


def _pads(sizes: Sizes, node: ir.Node) -> Limit:
    mode = node.attributes.get("mode")
    narrow = any(d is None or d < 2 for d in sizes.shape(node, 0) or ())
    constant = not isinstance(mode, ir.Attr) or (not mode.is_ref() and mode.as_string() == "constant")
    return Limit(0, 1 if constant or not narrow else 0, whole=True)


def _sizes(sizes: Sizes, node: ir.Node) -> Limit:
    """Sizes of a Resize: those that inference promises, or twice the inner ones."""
    return _resized(sizes, node, 3, absolute=True)


def _scales(sizes: Sizes, node: ir.Node) -> Limit:
    """Scales of a Resize or Upsample, as ``_sizes``."""
    return _resized(sizes, node, 1 if node.op_type == "Upsample" or len(node.inputs) == 2 else 2, absolute=False)


def _resized(sizes: Sizes, node: ir.Node, index: int, *, absolute: bool) -> Limit:
    before, after = sizes.shape(node, 0), sizes.of(node.outputs[0])
    attr = node.attributes.get("axes")
    if before is None:
        return Limit(1, 1)
    given = attr.as_ints() if isinstance(attr, ir.Attr) and not attr.is_ref() else range(len(before))
    axes = [a % len(before) for a in given]
    if len(axes) != sizes.length(node, index):
        return Limit(1, 1)
    wanted: list[int] = []
    for axis in axes:
        old, new = before[axis] or 1, after[axis] if after is not None and len(after) == len(before) else None
        # The kernels of most modes take batch and channel as they are.
        new = new or (old if axis < 2 else 2 * old)
        wanted.append(new if absolute else max(new // old, 1))
    return Limit(min(wanted, default=1), max(wanted, default=1), tuple(wanted))


def _region(sizes: Sizes, node: ir.Node) -> Limit:
    """The whole of a Resize's input: all starts 0, all ends 1."""
    half = (sizes.length(node, 1) or 0) // 2
    return Limit(0, 1, (0,) * half + (1,) * half)


def _grid(sizes: Sizes, node: ir.Node) -> Limit:
    """An image size ``[N, C, H, W]`` or ``[N, C, D, H, W]`` for the given transformations."""
    length = sizes.length(node, 1) or 4
    return Limit(1, 8, (sizes.dim(node, 0, 0) or 1, 1, *range(2, length)))


def _dft_length(sizes: Sizes, node: ir.Node) -> Limit:
    shape = sizes.shape(node, 0) or (1,)
    return Limit(1, max(min((d or 1 for d in shape[:-1]), default=1), 1), whole=True)


def _dft_axis(sizes: Sizes, node: ir.Node) -> Limit:
    return _index(max(len(sizes.shape(node, 0) or ()) - 1, 1))


def _written(sizes: Sizes, node: ir.Node) -> Limit:
    axis = _attribute(node, "axis", -2)
    return _index((sizes.dim(node, 0, axis) or 1) - (sizes.dim(node, 1, axis) or 1) + 1)


def _valid_keys(sizes: Sizes, node: ir.Node) -> Limit:
    keys = max(sizes.dim(node, 1, -2) or 1, 1)
    return Limit(keys, keys, whole=True)


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
    ("Slice", 3): lambda sizes, node: _later_axes(sizes, node, 3),
    ("Pad", 1): _pads,
    ("Pad", 3): lambda sizes, node: _later_axes(sizes, node, 3),
    ("Upsample", 1): _scales,
    ("Resize", 1): lambda sizes, node: _scales(sizes, node) if len(node.inputs) == 2 else _region(sizes, node),
    ("Resize", 2): _scales,
    ("Resize", 3): _sizes,
    ("AffineGrid", 1): _grid,
    ("DFT", 1): _dft_length,
    ("DFT", 2): _dft_axis,
    ("RotaryEmbedding", 3): lambda sizes, node: _index(sizes.dim(node, 1, 0)),
    ("TensorScatter", 2): _written,
    ("Attention", 6): _valid_keys,
    ("CumProd", 1): _axis,
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
    ("RoiAlign", 2): lambda sizes, node: _index(sizes.dim(node, 0, 0)),
    ("MaxRoiPool", 1): lambda sizes, node: _index(sizes.dim(node, 0, 0)),
    **{
        (f"Reduce{kind}", 1): _axes
        for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
    },
}
