"""Tensors as grids of partitions (DEBAR, section 3.1.1), which can be aligned, joined and cut."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx_ir as ir

from irfuzz.analyze.abstract_domain.affine_relations import LinearForm, Symbol, Symbols
from irfuzz.analyze.abstract_domain.interval import INF, Range, hull
from irfuzz.facts import Dim

MOST_PARTS = 64
"""A tensor that would have more partitions becomes one (``--domain expansion`` allows more)."""


@dataclass(frozen=True, slots=True)
class ConditionTest:
    """What a Boolean partition says: ``form op 0`` holds if it is true."""

    form: LinearForm
    op: str


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition.

    Attributes:
        range: of its elements.
        symbol: its elements as they were computed.
        form: the same in real arithmetic, over the symbols that they were computed from.
        tests: for Boolean ones, what holds if an element is true.
    """

    range: Range
    symbol: Symbol
    form: LinearForm
    tests: tuple[ConditionTest, ...] = ()


@dataclass(frozen=True, slots=True)
class Tensor:
    """An abstract tensor.

    Attributes:
        dtype: element type, if known.
        shape: sizes; ``None`` if the rank is unknown.
        cuts: for each dimension the indices at which a new partition begins, 0 excluded.
        parts: row-major over the grid that the cuts make.
        array: the elements, for constants.
    """

    dtype: ir.DataType | None
    shape: tuple[Dim, ...] | None
    cuts: tuple[tuple[int, ...], ...]
    parts: tuple[Partition, ...]
    array: np.ndarray | None = None

    @property
    def range(self) -> Range:
        """The hull of the ranges of all partitions, which bounds every element of the tensor."""
        return self.parts[0].range if len(self.parts) == 1 else hull(p.range for p in self.parts)

    @property
    def whole(self) -> bool:
        """Whether the tensor is one partition, so that nothing tells its elements apart."""
        return len(self.parts) == 1

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of partitions in each dimension: one more than it has cuts. Empty for scalars and unknown ranks."""
        return tuple(len(c) + 1 for c in self.cuts)

    @property
    def static(self) -> tuple[int, ...] | None:
        """The shape as numbers if every size is known; ``None`` if the rank is unknown or some size is a
        name or open.
        """
        if self.shape is None:
            return None
        return (
            tuple(d for d in self.shape if isinstance(d, int)) if all(isinstance(d, int) for d in self.shape) else None
        )

    @property
    def single(self) -> bool:
        """Whether it surely has exactly one element, whatever its rank. A shape that is not fully known says no."""
        static = self.static
        return static is not None and math.prod(static) == 1

    def count(self) -> float:
        """Number of elements, the product of the sizes; infinite if any of them is not known."""
        static = self.static
        return INF if static is None else float(math.prod(static))


class Grid:
    """Operations on partitions.

    Args:
        symbols: of the analysis.
        most: partitions of one tensor.
    """

    __slots__ = ("most", "symbols")

    def __init__(self, symbols: Symbols, most: int = MOST_PARTS) -> None:
        self.symbols = symbols
        self.most = most

    def part(self, symbol: Symbol, tests: tuple[ConditionTest, ...] = ()) -> Partition:
        """A partition about which only its symbol is known: its range is the symbol's, and its form the symbol alone.

        Args:
            symbol: of the elements as they were computed.
            tests: what holds if an element is true, for Boolean partitions.
        """
        return Partition(symbol.range, symbol, self.symbols.form(symbol), tests)

    def fresh(self, bounds: Range) -> Partition:
        """A partition that is related to no other one: it gets a new symbol, which has these bounds."""
        return self.part(self.symbols.fresh(bounds))

    def one(self, dtype: ir.DataType | None, shape: tuple[Dim, ...] | None, part: Partition) -> Tensor:
        """A tensor that is not cut and so consists of one given partition.

        Args:
            dtype: its element type, ``None`` if unknown.
            shape: its sizes, ``None`` if the rank is unknown.
            part: stands for all elements.
        """
        return Tensor(dtype, shape, ((),) * len(shape or ()), (part,))

    def plain(self, dtype: ir.DataType | None, shape: tuple[Dim, ...] | None, bounds: Range) -> Tensor:
        """A tensor of which only type, shape and range are known: one partition, related to no other.

        Args:
            dtype: its element type, ``None`` if unknown.
            shape: its sizes, ``None`` if the rank is unknown.
            bounds: of all elements.
        """
        return self.one(dtype, shape, self.fresh(bounds))

    def smashed(self, tensor: Tensor) -> Tensor:
        """The same tensor as one partition (array smashing), bounded by the hull of the ranges.

        A tensor that is one already is returned as it is, with its relations; otherwise they are lost. The elements of
        a constant are kept.
        """
        if tensor.whole:
            return tensor
        return replace(self.plain(tensor.dtype, tensor.shape, tensor.range), array=tensor.array)

    def moved(self, part: Partition, how: tuple[object, ...]) -> Partition:
        """A partition whose elements were put elsewhere: equal moves of equal partitions give equal partitions.

        Range, form and tests are kept, with each symbol replaced by that of its moved elements. Without affine
        relations only the range is kept.

        Args:
            part: before the move; it stays as it is.
            how: whatever decides which element goes to which place, hashable.
        """
        if not self.symbols.affine:
            return self.fresh(part.range)
        symbol = self._moved(part.symbol, how)
        terms = tuple((self._moved(s, how), f) for s, f in part.form.terms)
        tests = tuple(replace(t, form=replace(t.form, terms=self._terms(t.form, how))) for t in part.tests)
        return Partition(part.range, symbol, replace(part.form, terms=terms), tests)

    def _terms(self, form: LinearForm, how: tuple[object, ...]) -> tuple[tuple[Symbol, float], ...]:
        return tuple((self._moved(s, how), f) for s, f in form.terms)

    def _moved(self, symbol: Symbol, how: tuple[object, ...]) -> Symbol:
        return self.symbols.make("moved", (symbol, *how), symbol.range)

    def refined(self, tensor: Tensor, cuts: Sequence[tuple[int, ...]]) -> Tensor:
        """The same elements with at least these cuts (section 3.2.1, aligning).

        Args:
            tensor: returned as it is if it has all of these cuts.
            cuts: for each dimension indices at which a partition has to begin, 0 excluded. If the grid would have more
                partitions than allowed, the tensor becomes one partition instead, so look at the cuts of the result.
        """
        wanted = tuple(tuple(sorted({*own, *more})) for own, more in zip(tensor.cuts, cuts, strict=True))
        if wanted == tensor.cuts:
            return tensor
        if math.prod(len(c) + 1 for c in wanted) > self.most:
            return self.smashed(tensor)
        shape = tensor.shape or ()
        parts: list[Partition] = []
        old = [(0, *c) for c in tensor.cuts]
        starts = [(0, *c) for c in wanted]
        for cell in itertools.product(*(range(len(s)) for s in starts)):
            index = [bisect_right(old[d], starts[d][i]) - 1 for d, i in enumerate(cell)]
            source = tensor.parts[place_in(index, tensor.grid)]
            box = tuple(_within((*old[d], shape[d]), index[d], (*starts[d], shape[d]), i) for d, i in enumerate(cell))
            full = all(b is None for b in box)
            parts.append(source if full else self.moved(source, ("cut", box)))
        return Tensor(tensor.dtype, tensor.shape, wanted, tuple(parts), tensor.array)

    def merged(self, tensor: Tensor, keep: Callable[[int], bool]) -> Tensor:
        """The same elements without the cuts of the dimensions that are not kept.

        Each new partition has the hull of those that it replaces for a range, and no relations. The elements of a
        constant are kept.

        Args:
            tensor: returned as it is if it has no such cuts.
            keep: says of the index of a dimension whether its cuts stay.
        """
        if all(keep(d) or not c for d, c in enumerate(tensor.cuts)):
            return tensor
        cuts = tuple(c if keep(d) else () for d, c in enumerate(tensor.cuts))
        grid = tuple(len(c) + 1 for c in cuts)
        parts: list[Partition] = []
        for cell in itertools.product(*(range(n) for n in grid)):
            inner = [
                tensor.parts[place_in(full, tensor.grid)]
                for full in itertools.product(*((i,) if keep(d) else range(tensor.grid[d]) for d, i in enumerate(cell)))
            ]
            parts.append(self.fresh(hull(p.range for p in inner)))
        return Tensor(tensor.dtype, tensor.shape, cuts, tuple(parts), tensor.array)

    def aligned(
        self, tensors: Sequence[Tensor], shape: tuple[Dim, ...] | None
    ) -> tuple[tuple[tuple[int, ...], ...], list[list[Partition]]]:
        """Operands of an elementwise operator, broadcast to ``shape``: the common cuts, and each one's partitions.

        If the shape or a rank is unknown, or the common grid would have too many partitions, each operand is one
        partition.

        Args:
            tensors: the operands, broadcast as ONNX does: their last dimensions are aligned.
            shape: of the result.

        Returns:
            The cuts of the result by dimension; and for each operand a list of partitions, row-major over these cuts.
        """
        if shape is None or any(t.shape is None for t in tensors):
            return ((),) * len(shape or ()), [[self._spread(self.smashed(t), shape)] for t in tensors]
        rank = len(shape)
        common: list[set[int]] = [set() for _ in shape]
        for t in tensors:
            for d, cut in enumerate(t.cuts, rank - len(t.cuts)):
                if cut and t.shape is not None and t.shape[d - rank + len(t.shape)] == shape[d]:
                    common[d].update(cut)
        cuts = tuple(tuple(sorted(c)) for c in common)
        if math.prod(len(c) + 1 for c in cuts) > self.most:
            cuts = ((),) * rank
            tensors = [self.smashed(t) for t in tensors]
        columns: list[list[Partition]] = []
        grid = tuple(len(c) + 1 for c in cuts)
        for t in tensors:
            sizes = t.shape or ()
            skip = rank - len(sizes)
            own = [cuts[d + skip] if sizes[d] == shape[d + skip] else () for d in range(len(sizes))]
            fine = self.refined(t, own)
            column: list[Partition] = []
            for cell in itertools.product(*(range(n) for n in grid)):
                index = [cell[d + skip] if own[d] or fine.grid[d] > 1 else 0 for d in range(len(sizes))]
                part = fine.parts[place_in(index, fine.grid)]
                column.append(self._broadcast(part, t, shape, cuts, cell))
            columns.append(column)
        return cuts, columns

    def _spread(self, tensor: Tensor, shape: tuple[Dim, ...] | None) -> Partition:
        (part,) = tensor.parts
        if constant_of(part) is not None or (tensor.shape == shape and shape is not None):
            return part
        return self.fresh(part.range)

    def _broadcast(
        self,
        part: Partition,
        tensor: Tensor,
        shape: tuple[Dim, ...],
        cuts: tuple[tuple[int, ...], ...],
        cell: tuple[int, ...],
    ) -> Partition:
        """The partition repeated to the size of a cell of the result."""
        if tensor.shape == shape:
            return part
        if constant_of(part) is not None:
            return part
        sizes = tuple(_extent(shape[d], cuts[d], i) for d, i in enumerate(cell))
        if None in sizes or tensor.shape is None or None in tensor.shape:
            return self.fresh(part.range)
        return self.moved(part, ("expand", tensor.shape, sizes))


def _within(outer: tuple[Dim, ...], place: int, inner: tuple[Dim, ...], cell: int) -> tuple[int, int] | None:
    """Where a cell begins and ends within the cell that it is a part of; ``None`` if it is all of it."""
    edges = outer[place], outer[place + 1], inner[cell], inner[cell + 1]
    first, last, low, high = edges
    if first == low and last == high:
        return None
    assert isinstance(first, int)
    assert isinstance(low, int)
    assert isinstance(high, int)
    return low - first, high - first


def _extent(size: Dim, cuts: tuple[int, ...], index: int) -> Dim:
    if not cuts:
        return size
    edges = (0, *cuts, size)
    low, high = edges[index], edges[index + 1]
    return high - low if isinstance(low, int) and isinstance(high, int) else None


def place_in(index: Sequence[int], grid: tuple[int, ...]) -> int:
    """The row-major position of a cell in a grid, which is its index among ``Tensor.parts``.

    Args:
        index: of the cell in each dimension.
        grid: number of cells in each dimension, as many as there are indices.
    """
    place = 0
    for i, n in zip(index, grid, strict=True):
        place = place * n + i
    return place


def constant_of(part: Partition) -> float | None:
    """The one number that all elements are, if the form says so: no terms and no error.

    ``None`` if they may differ.
    """
    return part.form.constant if not part.form.terms and part.form.error == 0 else None
