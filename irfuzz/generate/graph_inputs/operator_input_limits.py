"""What an input of a node may hold, such as indices in range or a shape that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.spec import load_specs, trait_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class Limit:
    """What a value may hold.

    Attributes:
        low: smallest allowed element.
        high: largest allowed element.
        exact: all elements in row-major order, if only one content is right (a shape).
        whole: only whole numbers make sense, also in a floating-point type.
        distinct: ``("axis", k)``: no element twice along axis ``k``; ``("rows", sizes)``: no row twice, column ``j`` in
            ``[0, sizes[j])``. Without it a scatter's result would depend on an order ONNX leaves open.
        signed: the opposite of each allowed element is allowed as well, by those who want more than ordinary numbers.
        order: how elements follow each other along the last axis, one of ``input_domain.ORDERS``; empty: in no way.
    """

    low: float = -math.inf
    high: float = math.inf
    exact: tuple[float, ...] | None = None
    distinct: tuple[str, int | tuple[int, ...]] | None = None
    whole: bool = False
    order: str = ""
    signed: bool = False


class NodeSizes:
    """Sizes and constants around a node, under one choice of the program's named dimensions."""

    __slots__ = ("_dims", "_program")

    def __init__(self, program: Program, dims: Mapping[str, int]) -> None:
        self._program = program
        self._dims = dims

    def is_opaque(self, node: ir.Node) -> bool:
        """Whether nothing defines the node's operator: no schema of ONNX's, no rules and no function of the model."""
        return self._program.inference.is_opaque(node)

    def fact(self, node: ir.Node, index: int) -> TensorFact | None:
        """What is known of an input that is a tensor; ``None`` if it is omitted, absent or something else."""
        value = node.inputs[index] if index < len(node.inputs) else None
        fact = None if value is None else self._program.fact(value)
        return fact if isinstance(fact, TensorFact) else None

    def shape(self, node: ir.Node, index: int) -> tuple[int | None, ...] | None:
        """Sizes of an input, with numbers for the program's named dimensions; ``None`` if it is omitted or its rank is
        not known.
        """
        value = node.inputs[index] if index < len(node.inputs) else None
        return None if value is None else self.of(value)

    def of(self, value: ir.Value) -> tuple[int | None, ...] | None:
        """Sizes of a value, if its rank is known; ``None`` stands for a size that is unknown, or named without a
        number.
        """
        fact = self._program.fact(value)
        if not isinstance(fact, TensorFact) or fact.shape is None:
            return None
        return tuple(d if isinstance(d, int) else self._dims.get(d) if isinstance(d, str) else None for d in fact.shape)

    def dim(self, node: ir.Node, index: int, axis: int) -> int | None:
        """One size of an input, of which the axis may count from the end; ``None`` if it is not known or there is no
        such axis.
        """
        shape = self.shape(node, index)
        return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None

    def length(self, node: ir.Node, index: int) -> int | None:
        """Number of elements of a one-dimensional input; ``None`` if it is not known, or if the input is a scalar."""
        shape = self.shape(node, index)
        return shape[0] if shape else None

    def drawn(self, node: ir.Node, index: int) -> Limit | str | None:
        """What ``ops/`` says of the elements of an input: limits that hang on no size, or the word of a rule."""
        domains = trait_values("drawn_elements").get(node.op_type)
        spec = None if domains is None else load_specs().get(node.op_type, self._program.opset)
        formal = None if spec is None else spec.formal(index)
        found = None if domains is None or formal is None else domains.get(formal.name)
        return Limit(*found) if isinstance(found, list) else found

    def scalar(self, node: ir.Node, index: int) -> float | None:
        """First element of a constant input, as a float; ``None`` if the input is no constant or has no elements."""
        value = node.inputs[index] if index < len(node.inputs) else None
        array = None if value is None else self._program.const_array(value)
        return float(array.reshape(-1)[0]) if array is not None and array.size else None


def limit_at(sizes: NodeSizes, node: ir.Node, index: int) -> Limit | None:
    """What input ``index`` of ``node`` may hold; ``None`` if anything of its type will do.

    Operators of other domains that nothing defines get 0 and 1 at integers of more than 8 bits.
    """
    # The only operator of its domain with an input that is no data.
    if node.domain == "ai.onnx.ml" and node.op_type == "ArrayFeatureExtractor" and index == 1:
        return _index(sizes.dim(node, 0, -1))
    if node.domain not in ("", "ai.onnx"):
        fact = sizes.fact(node, index)
        # What nothing is known of takes integers as masks, flags, positions or rows of a table that has two at least.
        counts = fact is not None and fact.dtype.is_integer() and fact.dtype.bitwidth > 8 and sizes.is_opaque(node)
        return Limit(0, 1) if counts else None
    drawn = sizes.drawn(node, index)
    return drawn if not isinstance(drawn, str) else RULES[drawn](sizes, node)


def _attribute(node: ir.Node, name: str, default: int) -> int:
    attr = node.attributes.get(name)
    return attr.as_int() if isinstance(attr, ir.Attr) and not attr.is_ref() else default


def _index(size: int | None) -> Limit:
    """Valid, non-negative indices (a negative one would not survive a cast to an unsigned type on its way)."""
    return Limit(0, max((size or 1) - 1, 0), whole=True)


def _along_axis(sizes: NodeSizes, node: ir.Node) -> Limit:
    return _index(sizes.dim(node, 0, _attribute(node, "axis", 0)))


def _scatter(sizes: NodeSizes, node: ir.Node) -> Limit:
    axis = _attribute(node, "axis", 0)
    limit = _index(sizes.dim(node, 0, axis))
    return replace(limit, distinct=("axis", axis))


def _nd(sizes: NodeSizes, node: ir.Node, batch: int) -> tuple[int, ...] | None:
    data, indices = sizes.shape(node, 0), sizes.shape(node, 1)
    if data is None or not indices or indices[-1] is None:
        return None
    return tuple(d or 1 for d in data[batch : batch + indices[-1]])


def _gather_nd(sizes: NodeSizes, node: ir.Node) -> Limit:
    indexed = _nd(sizes, node, _attribute(node, "batch_dims", 0))
    return _index(min(indexed) if indexed else None)


def _scatter_nd(sizes: NodeSizes, node: ir.Node) -> Limit:
    indexed = _nd(sizes, node, 0)
    limit = _index(min(indexed) if indexed else None)
    return replace(limit, distinct=("rows", indexed) if indexed else None)


def _one_hot(sizes: NodeSizes, node: ir.Node) -> Limit:
    depth = sizes.scalar(node, 1)
    return _index(int(depth) if depth is not None else None)


def _output_shape(sizes: NodeSizes, node: ir.Node) -> Limit:
    """The shape that inference already promises, or one that always fits."""
    out = sizes.of(node.outputs[0])
    if out is not None and all(d is not None for d in out):
        return Limit(1, 1, tuple(d for d in out if d is not None))
    return Limit(1, 1)


def _new_shape(sizes: NodeSizes, node: ir.Node) -> Limit:
    """The same of a Reshape, which can put everything on the first axis."""
    limit, length = _output_shape(sizes, node), sizes.length(node, 1)
    return limit if limit.exact is not None or not length else Limit(-1, 1, (-1,) + (1,) * (length - 1))


def _parts(sizes: NodeSizes, node: ir.Node) -> Limit:
    """Parts that make up the whole: as inference promises, or as equal as they can be."""
    axis = _attribute(node, "axis", 0)
    size, count = sizes.dim(node, 0, axis), len(node.outputs)
    parts = [sizes.of(out) for out in node.outputs]
    known = [p[axis] for p in parts if p is not None and -len(p) <= axis < len(p)]
    if size is not None and len(known) == count and all(k is not None for k in known):
        return Limit(0, size, tuple(k for k in known if k is not None))
    return _equal_parts(size, count)


def _parts_of_sequence(sizes: NodeSizes, node: ir.Node) -> Limit:
    """The same for a sequence, whose parts have no facts of their own; a scalar is the size of each of them."""
    size = sizes.dim(node, 0, _attribute(node, "axis", 0))
    if not sizes.shape(node, 1):
        return Limit(1, max(size or 1, 1), whole=True)
    return _equal_parts(size, sizes.length(node, 1) or 0)


def _equal_parts(size: int | None, count: int) -> Limit:
    if size is None or not count:
        return Limit(1, 1)
    return Limit(0, size, tuple(size // count + (1 if i < size % count else 0) for i in range(count)))


def _slice_end(sizes: NodeSizes, node: ir.Node) -> Limit:
    shape = sizes.shape(node, 0) or ()
    return Limit(1, max(min((d or 1 for d in shape), default=1), 1))


def _axes(sizes: NodeSizes, node: ir.Node, index: int = 1, more: int = 0) -> Limit:
    """Different axes, from the first on."""
    rank, length = len(sizes.shape(node, 0) or ()) + more, sizes.length(node, index)
    return Limit(0, max(rank - 1, 0), None if length is None else tuple(range(length)), whole=index > 1)


def _new_axes(sizes: NodeSizes, node: ir.Node) -> Limit:
    return _axes(sizes, node, more=sizes.length(node, 1) or 1)


def _axes_of_one(sizes: NodeSizes, node: ir.Node) -> Limit:
    """Axes of size 1, and the first one for those that are too many."""
    shape, length = sizes.shape(node, 0) or (), sizes.length(node, 1)
    ones = [i for i, d in enumerate(shape) if d == 1]
    return Limit(0, max(len(shape) - 1, 0), None if length is None else tuple((ones + [0] * length)[:length]))


def _axis(sizes: NodeSizes, node: ir.Node) -> Limit:
    return _index(len(sizes.shape(node, 0) or ()) or None)


def _top_k(sizes: NodeSizes, node: ir.Node) -> Limit:
    return Limit(1, max(sizes.dim(node, 0, _attribute(node, "axis", -1)) or 1, 1))


def _sequence_lengths(sizes: NodeSizes, node: ir.Node) -> Limit:
    layout = _attribute(node, "layout", 0)
    return Limit(1, max(sizes.dim(node, 0, 1 if layout else 0) or 1, 1))


def _reversed_lengths(sizes: NodeSizes, node: ir.Node) -> Limit:
    return Limit(1, max(sizes.dim(node, 0, _attribute(node, "time_axis", 0)) or 1, 1))


def _class(sizes: NodeSizes, node: ir.Node) -> Limit:
    return _index(sizes.dim(node, 0, 1))


def _divisor(sizes: NodeSizes, node: ir.Node) -> Limit | None:
    fact = sizes.fact(node, 1)
    if fact is None or not fact.dtype.is_integer():
        return None
    return Limit(1, 8, signed=fact.dtype.is_signed())


def _exponent(sizes: NodeSizes, node: ir.Node) -> Limit | None:
    fact = sizes.fact(node, 1)
    return Limit(0, 3) if fact is not None and fact.dtype.is_integer() else None


def _pads(sizes: NodeSizes, node: ir.Node) -> Limit:
    mode = node.attributes.get("mode")
    narrow = any(d is None or d < 2 for d in sizes.shape(node, 0) or ())
    constant = not isinstance(mode, ir.Attr) or (not mode.is_ref() and mode.as_string() == "constant")
    return Limit(0, 1 if constant or not narrow else 0, whole=True)


def _sizes(sizes: NodeSizes, node: ir.Node) -> Limit:
    """Sizes of a Resize: those that inference promises, or twice the inner ones."""
    return _resized(sizes, node, 3, absolute=True)


def _scales(sizes: NodeSizes, node: ir.Node) -> Limit:
    """Scales of a Resize or Upsample, as ``_sizes``."""
    return _resized(sizes, node, 1 if len(node.inputs) == 2 else 2, absolute=False)


def _resized(sizes: NodeSizes, node: ir.Node, index: int, *, absolute: bool) -> Limit:
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


def _region(sizes: NodeSizes, node: ir.Node) -> Limit:
    """The whole of a Resize's input: all starts 0, all ends 1."""
    half = (sizes.length(node, 1) or 0) // 2
    return Limit(0, 1, (0,) * half + (1,) * half)


def _image(sizes: NodeSizes, node: ir.Node) -> Limit:
    """The image of a batch that a region lies in."""
    return _index(sizes.dim(node, 0, 0))


def _position(sizes: NodeSizes, node: ir.Node) -> Limit:
    """A row of the cached tables."""
    return _index(sizes.dim(node, 1, 0))


def _grid(sizes: NodeSizes, node: ir.Node) -> Limit:
    """An image size ``[N, C, H, W]`` or ``[N, C, D, H, W]`` for the given transformations."""
    length = sizes.length(node, 1) or 4
    return Limit(1, 8, (sizes.dim(node, 0, 0) or 1, 1, *range(2, length)))


def _dft_length(sizes: NodeSizes, node: ir.Node) -> Limit:
    shape = sizes.shape(node, 0) or (1,)
    return Limit(1, max(min((d or 1 for d in shape[:-1]), default=1), 1), whole=True)


def _dft_axis(sizes: NodeSizes, node: ir.Node) -> Limit:
    return _index(max(len(sizes.shape(node, 0) or ()) - 1, 1))


def _written(sizes: NodeSizes, node: ir.Node) -> Limit:
    axis = _attribute(node, "axis", -2)
    return _index((sizes.dim(node, 0, axis) or 1) - (sizes.dim(node, 1, axis) or 1) + 1)


def _valid_keys(sizes: NodeSizes, node: ir.Node) -> Limit:
    keys = max(sizes.dim(node, 1, -2) or 1, 1)
    return Limit(keys, keys, whole=True)


def _unpool(sizes: NodeSizes, node: ir.Node) -> Limit:
    out = sizes.of(node.outputs[0])
    size = math.prod(d or 1 for d in out) if out else 1
    return _index(size)


RULES: Mapping[str, Callable[[NodeSizes, ir.Node], Limit | None]] = {
    "axes": _axes,
    "axes_of_one": _axes_of_one,
    "axis": _axis,
    "class": _class,
    "dft_axis": _dft_axis,
    "dft_length": _dft_length,
    "distinct_along_axis": _scatter,
    "distinct_tuples": _scatter_nd,
    "divisor": _divisor,
    "end": _slice_end,
    "exponent": _exponent,
    "given_axes": partial(_axes, index=3),
    "grid_size": _grid,
    "image": _image,
    "index_along_axis": _along_axis,
    "index_below_depth": _one_hot,
    "index_tuples": _gather_nd,
    "key_lengths": _valid_keys,
    "new_axes": _new_axes,
    "new_shape": _new_shape,
    "output_shape": _output_shape,
    "pads": _pads,
    "parts": _parts,
    "parts_of_sequence": _parts_of_sequence,
    "position": _position,
    "region": _region,
    "scales": _scales,
    "sequence_lengths": _sequence_lengths,
    "sizes": _sizes,
    "time_lengths": _reversed_lengths,
    "top_k": _top_k,
    "unpooled_index": _unpool,
    "write_index": _written,
}
"""By the word that the trait ``drawn_elements`` gives for an input."""
