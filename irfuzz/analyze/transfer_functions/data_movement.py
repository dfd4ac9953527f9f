"""Operators that move elements (DEBAR, sections 3.2.2 and 3.2.3): moves partitions to their new places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import onnx_ir as ir

from irfuzz.analyze.abstract_domain.interval import INF, Range, add, hull, rounded
from irfuzz.analyze.abstract_domain.partitioned_tensor import Partition, Tensor, place_in
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, Transfer, operand
from irfuzz.analyze.transfer_functions.pad_and_scatter import bordered, ends_of, overwritten
from irfuzz.analyze.transfer_functions.reductions_and_pooling import OPEN_SIZE, added


def rearranged(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """An operator that gives some elements of its first input, whatever the order: one partition, known by the call.

    Equal calls on equal inputs give equal partitions, so range, form and tests of the input hold. Of further outputs
    only the type is known.
    """
    data = ctx.grid.smashed(operand(inputs))
    others = tuple(t.parts[0].symbol if t is not None and t.whole else t and node.outputs[0] for t in inputs[1:])
    part = ctx.grid.moved(data.parts[0], (node.op_type, *ctx.key(node)[1:], *others, repr(data.shape)))
    made = ctx.grid.one(ctx.dtype(node), ctx.shape(node), Partition(part.range, part.symbol, part.form, part.tests))
    return [made, *ctx.rest(node)]


def reshape(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Reshape, Flatten, Squeeze and Unsqueeze: in place if only sizes of 1 come and go, else as one partition.

    A constant keeps its elements. A grid that cannot be kept is smashed, and its relations are lost; one partition
    keeps them.
    """
    data = operand(inputs)
    shape = ctx.shape(node)
    array = None
    if data.array is not None and shape is not None and all(isinstance(d, int) for d in shape):
        array = data.array.reshape([d for d in shape if isinstance(d, int)])
    if data.whole:
        (part,) = data.parts
        how = ("reshape", repr(data.shape), repr(shape))
        named = data.shape is not None and shape is not None and None not in (*data.shape, *shape)
        moved = (
            part if data.shape == shape and named else ctx.grid.moved(part, how if named else (*how, node.outputs[0]))
        )
        return [_with(ctx.grid.one(ctx.dtype(node), shape, moved), array)]
    if data.shape is not None and shape is not None:
        places = _kept(data.shape, shape)
        if places is not None:
            cuts = tuple(data.cuts[p] if p is not None else () for p in places)
            parts = tuple(
                ctx.grid.moved(p, ("reshape", repr(data.shape), repr(shape), i)) for i, p in enumerate(data.parts)
            )
            return [Tensor(ctx.dtype(node), shape, cuts, parts, array)]
    return [_with(ctx.grid.plain(ctx.dtype(node), shape, data.range), array)]


def _with(tensor: Tensor, array: np.ndarray | None) -> Tensor:
    return tensor if array is None else Tensor(tensor.dtype, tensor.shape, tensor.cuts, tensor.parts, array)


def _kept(before: tuple[object, ...], after: tuple[object, ...]) -> list[int | None] | None:
    """For each size afterwards its place before, if the two differ by sizes of 1 only."""
    old = [i for i, d in enumerate(before) if d != 1]
    if [before[i] for i in old] != [d for d in after if d != 1] or None in before:
        return None
    left = iter(old)
    return [None if d == 1 else next(left) for d in after]


def transpose(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Transpose: the grid is transposed with the elements, each partition moved to its new place; constants stay
    constants.
    """
    data = operand(inputs)
    shape = ctx.shape(node)
    if data.shape is None or shape is None:
        return [ctx.plain(node, data.range)]
    rank = len(data.shape)
    order = tuple(ctx.attr(node, "perm") or range(rank - 1, -1, -1))
    cuts = tuple(data.cuts[p] for p in order)
    grid = tuple(len(c) + 1 for c in cuts)
    parts: list[Partition] = []
    for cell in itertools.product(*(range(n) for n in grid)):
        source = [0] * rank
        for place, p in enumerate(order):
            source[p] = cell[place]
        part = data.parts[place_in(source, data.grid)]
        parts.append(part if order == tuple(range(rank)) else ctx.grid.moved(part, ("transpose", order)))
    array = None if data.array is None else data.array.transpose(order)
    return [Tensor(ctx.dtype(node), shape, cuts, tuple(parts), array)]


def concat(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Concat (section 3.2.2): the partitions of the operands side by side along the axis, with common cuts in the
    others.

    One partition, the hull of all, is left if a shape or a size along the axis is unknown, or if there would be too
    many. Operands of size 0 along the axis do not count.
    """
    tensors = [t for t in inputs if t is not None]
    shape = ctx.shape(node)
    if len(tensors) == 1:
        return tensors
    if shape is None or any(t.shape is None for t in tensors):
        return [ctx.plain(node, hull(t.range for t in tensors))]
    rank = len(shape)
    axis = ctx.attr(node, "axis", 1) % rank
    sizes = [t.shape[axis] for t in tensors if t.shape is not None]
    if not all(isinstance(s, int) for s in sizes):
        return [ctx.plain(node, hull(t.range for t in tensors))]
    tensors = [t for t, s in zip(tensors, sizes, strict=True) if s != 0]
    sizes = [s for s in sizes if s != 0]
    if not tensors:
        return [ctx.plain(node, Range(0.0, 0.0))]
    others = [set[int]() for _ in shape]
    for t in tensors:
        for d in range(rank):
            if d != axis:
                others[d].update(t.cuts[d])
    fine = [ctx.grid.refined(t, [() if d == axis else tuple(sorted(others[d])) for d in range(rank)]) for t in tensors]
    frames = [tuple(c for d, c in enumerate(t.cuts) if d != axis) for t in fine]
    count = sum(len(t.parts) for t in fine)
    if count > ctx.grid.most or any(f != frames[0] for f in frames):
        return [ctx.plain(node, hull(t.range for t in tensors))]
    along: list[int] = []
    start = 0
    for t, size in zip(fine, sizes, strict=True):
        assert isinstance(size, int)
        along += [start + c for c in t.cuts[axis]]
        start += size
        along.append(start)
    cuts = tuple(tuple(along[:-1]) if d == axis else c for d, c in enumerate(fine[0].cuts))
    owners = [(t, i) for t in fine for i in range(t.grid[axis])]
    parts: list[Partition] = []
    for cell in itertools.product(*(range(len(c) + 1) for c in cuts)):
        t, i = owners[cell[axis]]
        parts.append(t.parts[place_in([i if d == axis else cell[d] for d in range(rank)], t.grid)])
    array = None
    if all(t.array is not None for t in tensors):
        array = np.concatenate([t.array for t in tensors if t.array is not None], axis=axis)
    return [Tensor(ctx.dtype(node), shape, cuts, tuple(parts), array)]


def window(
    ctx: AnalysisContext,
    data: Tensor,
    shape: tuple[object, ...] | None,
    boxes: Mapping[int, tuple[int, int]],
    dtype: ir.DataType | None,
) -> Tensor:
    """The elements of ``data`` within ``boxes``, as Slice and Split take them.

    Args:
        ctx: of the analysis.
        data: of known rank; the sizes of the dimensions in ``boxes`` must be known.
        shape: of the result.
        boxes: start and end by dimension, non-negative; dimensions that are not named are kept whole.
        dtype: of the result.

    Returns:
        The cut partitions; if cutting makes too many, one partition with the range of all elements.
    """
    cuts = [tuple(c for c in boxes[d] if 0 < c < _known(data, d)) if d in boxes else () for d in range(len(data.cuts))]
    fine = ctx.grid.refined(data, cuts)
    if any(not set(c) <= set(f) for c, f in zip(cuts, fine.cuts, strict=True)):
        return ctx.grid.plain(dtype, shape, data.range)  # type: ignore[arg-type]
    kept: list[list[int]] = []
    made: list[tuple[int, ...]] = []
    for d, own in enumerate(fine.cuts):
        starts = (0, *own)
        if d not in boxes:
            kept.append(list(range(len(starts))))
            made.append(own)
            continue
        low, high = boxes[d]
        inside = [i for i, s in enumerate(starts) if low <= s < high]
        kept.append(inside)
        made.append(tuple(starts[i] - low for i in inside[1:]))
    parts = tuple(fine.parts[place_in(cell, fine.grid)] for cell in itertools.product(*kept))
    if not parts:
        return ctx.grid.plain(dtype, shape, data.range)  # type: ignore[arg-type]
    array = None
    if data.array is not None:
        array = data.array[tuple(slice(*boxes[d]) if d in boxes else slice(None) for d in range(data.array.ndim))]
    return Tensor(dtype, shape, tuple(made), parts, array)  # type: ignore[arg-type]


def _known(data: Tensor, dimension: int) -> int:
    size = (data.shape or ())[dimension]
    return size if isinstance(size, int) else 0


def split(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Split (section 3.2.3): each output is its window of the input, by the sizes that shape inference found.

    An output of unknown size along the axis may be any of the elements.
    """
    data = operand(inputs)
    found: list[Tensor] = []
    start = 0
    axis = ctx.attr(node, "axis", 0)
    for index in range(len(node.outputs)):
        shape = ctx.shape(node, index)
        rank = None if data.shape is None else len(data.shape)
        size = None if shape is None or not shape else shape[axis]
        if rank is None or not isinstance(size, int) or not isinstance((data.shape or ())[axis], int):
            found.append(ctx.plain(node, data.range, index))
            continue
        found.append(window(ctx, data, shape, {axis % rank: (start, start + size)}, ctx.dtype(node, index)))
        start += size
    return found


def slice_(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Slice: exact for known starts and steps of 1; else any of the elements.

    Before opset 10 starts, ends and axes are attributes. Empty slices and sizes that are no numbers count as unknown,
    too.
    """
    data = operand(inputs)
    boxes = _boxes(ctx, node, inputs, data)
    if boxes is None:
        return rearranged(ctx, node, inputs)
    return [window(ctx, data, ctx.shape(node), boxes, ctx.dtype(node))]


def _boxes(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, data: Tensor) -> dict[int, tuple[int, int]] | None:
    if data.shape is None:
        return None
    rank = len(data.shape)
    if "starts" in node.attributes:
        starts, ends = ctx.attr(node, "starts"), ctx.attr(node, "ends")
        axes = ctx.attr(node, "axes") or range(len(starts))
        steps = [1] * len(starts)
    else:
        arrays = [None if t is None else t.array for t in inputs[1:]]
        if any(a is None for a, t in zip(arrays, inputs[1:], strict=True) if t is not None):
            return None
        rows = [None if a is None else [int(e) for e in a.reshape(-1)] for a in arrays]
        rows += [None] * (4 - len(rows))
        starts, ends = rows[0] or [], rows[1] or []
        axes = rows[2] if rows[2] is not None else range(len(starts))
        steps = rows[3] if rows[3] is not None else [1] * len(starts)
    boxes: dict[int, tuple[int, int]] = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = data.shape[axis % rank]
        if step != 1 or not isinstance(size, int):
            return None
        low, high, _ = slice(start, end).indices(size)
        if low >= high:
            return None
        if (low, high) != (0, size):
            boxes[axis % rank] = (low, high)
    return boxes


def gather(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Gather: for known indices the hull of the rows that they take, else of all.

    Gathering from a constant gives a constant, and one row keeps its relations. Indices that may lie outside are
    treated as unknown.
    """
    data, indices = operand(inputs), inputs[1]
    assert indices is not None
    if data.shape is not None and indices.array is not None and indices.array.size:
        axis = ctx.attr(node, "axis", 0) % len(data.shape)
        size = data.shape[axis]
        rows = indices.array.reshape(-1)
        if isinstance(size, int) and rows.min() >= -size and rows.max() < size:
            if data.array is not None:
                found = ctx.constant(np.take(data.array, indices.array, axis=axis), ctx.dtype(node), node.outputs[0])
                return [found]
            if rows.size == 1:
                at = int(rows[0]) % size
                row = window(ctx, data, data.shape, {axis: (at, at + 1)}, data.dtype)
                return [_squeezed(ctx, node, row, axis, indices.array.ndim)]
            starts = (0, *data.cuts[axis])
            kept = sorted({int(np.searchsorted(starts, r % size, side="right")) - 1 for r in rows})
            parts = [
                p
                for cell, p in zip(itertools.product(*(range(n) for n in data.grid)), data.parts, strict=True)
                if cell[axis] in kept
            ]
            return [ctx.plain(node, hull(p.range for p in parts))]
    return rearranged(ctx, node, inputs)


def _squeezed(ctx: AnalysisContext, node: ir.Node, row: Tensor, axis: int, rank: int) -> Tensor:
    """A window of one row as Gather gives it: its dimension replaced by those of the indices, all of size 1."""
    cuts = (*row.cuts[:axis], *((),) * rank, *row.cuts[axis + 1 :])
    parts = tuple(ctx.grid.moved(p, ("row", axis, rank)) for p in row.parts)
    return Tensor(ctx.dtype(node), ctx.shape(node), cuts, parts)


def expand(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Expand: the input is broadcast to the output's shape, and keeps its cuts in the dimensions that do not grow."""
    data = operand(inputs)
    shape = ctx.shape(node)
    cuts, ((*parts,),) = ctx.grid.aligned([data], shape)
    return [Tensor(ctx.dtype(node), shape, cuts, tuple(parts))]


def pad(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Pad: a border of the constant; of elements of the input in the other modes.

    Pads and value are attributes before opset 11. If the amounts are unknown or negative, the result is one partition,
    which holds elements and the constant.
    """
    data = operand(inputs)
    if str(ctx.attr(node, "mode", "constant")) != "constant":
        return rearranged(ctx, node, inputs)
    value = inputs[2] if len(inputs) > 2 else None
    outside = float(ctx.attr(node, "value", 0.0))
    border = value.range if value is not None else Range(outside, outside)
    pads = inputs[1].array if len(inputs) > 1 and inputs[1] is not None else None
    amounts = (
        tuple(ctx.attr(node, "pads") or ())
        if len(inputs) < 2
        else None
        if pads is None
        else tuple(int(p) for p in pads.reshape(-1))
    )
    if amounts is not None and not any(amounts) and data.shape == ctx.shape(node):
        return [data]
    ends = None if amounts is None or data.shape is None else ends_of(inputs, amounts, len(data.shape))
    found = None if ends is None else bordered(ctx, node, data, ends, border)
    return [found or ctx.plain(node, hull([data.range, border]))]


def united(*indices: int, zero: bool = False) -> Transfer:
    """The transfer function of an operator whose elements are those of some of its inputs, and 0.

    Args:
        *indices: of these inputs; absent ones are left out, but at least one must be there.
        zero: 0 is among the elements, too.

    Returns:
        A function that gives the first output one partition with the hull of their ranges, and the others any number.
    """

    def transfer(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
        found = [t.range for i in indices if i < len(inputs) and (t := inputs[i]) is not None]
        bounds = hull([*found, Range(0.0, 0.0)] if zero else found)
        return [ctx.plain(node, bounds), *ctx.rest(node)]

    return transfer


def scatter(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """ScatterElements and ScatterND: elements of either input, or what the reduction makes of both.

    Known indices cut the grid around what they overwrite. ``max`` and ``min`` give elements of either input; with
    ``add`` an element gets none or any number of the updates; ``mul`` may give any number.
    """
    reduction = str(ctx.attr(node, "reduction", "none"))
    data, indices, updates = inputs[:3]
    if reduction == "none" and data is not None and indices is not None and updates is not None:
        found = overwritten(ctx, node, data, indices.array, updates.range)
        if found is not None:
            return [found]
    if reduction in ("none", "max", "min"):
        return united(0, 2)(ctx, node, inputs)
    if reduction != "add" or data is None or updates is None:
        return [ctx.top(node)]
    # An element gets any number of the updates, none too.
    most = updates.count() if updates.count() < INF else OPEN_SIZE
    some = added(updates.range, 0.0, most, ctx.format(node))
    return [ctx.plain(node, rounded(add(data.range, hull([some, Range(0.0, 0.0)])), ctx.format(node)))]


def indices_below(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """An operator that gives positions or sizes: constants if shape inference knows them, else at least 0 and at most
    2**62.

    Shape and Size give at least 1 unless a size is 0, as symbolic sizes are analysed from 1 on.
    """
    fact = ctx.fact(node)
    if fact is not None and fact.known and fact.value:
        array = np.array(fact.value, dtype=np.int64).reshape([d for d in fact.shape or () if isinstance(d, int)])
        return [ctx.constant(array, fact.dtype, node.outputs[0])]
    low = 0.0
    if node.op_type in ("Shape", "Size") and inputs[0] is not None:
        sizes = inputs[0].shape
        # Symbolic sizes are analysed from 1 on.
        low = 1.0 if sizes is not None and all(d != 0 for d in sizes) else 0.0
    return [ctx.plain(node, Range(low, 2.0**62))]


def top_k(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """TopK: the values are elements of the input, in one partition; the indices are from 0 to 2**62."""
    return [*united(0)(ctx, node, inputs)[:1], ctx.plain(node, Range(0.0, 2.0**62), 1)]


def one_hot(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """OneHot: each element is one of the two values of the third input, so the result has its range."""
    return united(2)(ctx, node, inputs)


def of_shape(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """ConstantOfShape: the number in its attribute ``value``, 0 without it, as a constant partition; NaN gives [0, 0]
    with NaN.
    """
    value = ctx.attr(node, "value")
    number = 0.0 if value is None else float(np.asarray(value.numpy()).reshape(-1)[0])
    if math.isnan(number):
        return [ctx.plain(node, Range(0.0, 0.0, nan=True))]
    part = ctx.number(number, ctx.dtype(node), ctx.shape(node), node.outputs[0])
    return [ctx.grid.one(ctx.dtype(node), ctx.shape(node), part)]


def range_(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Range: numbers from start towards the limit, so from the smaller to the larger of them, whatever the step is."""
    start, limit, _ = (t.range for t in inputs if t is not None)
    return [
        ctx.plain(node, Range(min(start.low, limit.low), max(start.high, limit.high), loose=start.loose or limit.loose))
    ]


def triangle(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Trilu: the elements of the input, or 0 in the triangle that is cut off; the grid is not followed."""
    return united(0, zero=True)(ctx, node, inputs)


def numbers(low: float, high: float) -> Transfer:
    """The transfer function of operators whose outputs lie in a fixed range, whatever their inputs are.

    Args:
        low: of every output.
        high: likewise.
    """
    return lambda ctx, node, inputs: [ctx.plain(node, Range(low, high), i) for i in range(len(node.outputs))]


MOVES: Mapping[str, Transfer] = {
    "CenterCropPad": united(0, zero=True),
    "Compress": rearranged,
    "Concat": concat,
    "ConstantOfShape": of_shape,
    "DepthToSpace": rearranged,
    "Expand": expand,
    "EyeLike": numbers(0.0, 1.0),
    "Flatten": reshape,
    "Gather": gather,
    "GatherElements": rearranged,
    "GatherND": rearranged,
    "MaxUnpool": united(0, zero=True),
    "NonZero": numbers(0.0, 2.0**62),
    "OneHot": one_hot,
    "Pad": pad,
    "Range": range_,
    "Reshape": reshape,
    "ReverseSequence": rearranged,
    "Scatter": scatter,
    "ScatterElements": scatter,
    "ScatterND": scatter,
    "Shape": indices_below,
    "Size": indices_below,
    "Slice": slice_,
    "SpaceToDepth": rearranged,
    "Split": split,
    "Squeeze": reshape,
    "TensorScatter": united(0, 1),
    "Tile": rearranged,
    "TopK": top_k,
    "Transpose": transpose,
    "Trilu": triangle,
    "Unique": lambda ctx, node, inputs: [
        *united(0)(ctx, node, inputs)[:1],
        *(ctx.plain(node, Range(0.0, 2.0**62), i) for i in range(1, len(node.outputs))),
    ],
    "Unsqueeze": reshape,
}
"""Operators that move, select or repeat elements."""
