"""Pad and Scatter (DEBAR, section 3.2): cuts a grid where other elements are put."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from irfuzz.analyze.abstract_domain.interval import Range, hull
from irfuzz.analyze.abstract_domain.partitioned_tensor import Partition, Tensor, place_in
from irfuzz.analyze.transfer_functions.analysis_context import MOST_ELEMENTS, AnalysisContext, Inputs


def ends_of(inputs: Inputs, amounts: tuple[int, ...], rank: int) -> list[tuple[int, int]] | None:
    """How much Pad puts before and after each dimension.

    Args:
        inputs: of Pad; the fourth names the axes that the amounts are for, all without it.
        amounts: first what goes before each of these axes, then what goes behind it.
        rank: of the data.

    Returns:
        A pair for each dimension, (0, 0) for axes that are not named; ``None`` if the axes are unknown or too few or
        many.
    """
    given = inputs[3] if len(inputs) > 3 else None
    if given is not None and given.array is None:
        return None
    axes = range(rank) if given is None or given.array is None else [int(a) % rank for a in given.array.reshape(-1)]
    count = len(amounts) // 2
    if len(axes) != count:
        return None
    found = [(0, 0)] * rank
    for axis, before, after in zip(axes, amounts[:count], amounts[count:], strict=True):
        found[axis] = before, after
    return found


def bordered(
    ctx: AnalysisContext, node: ir.Node, data: Tensor, amounts: Sequence[tuple[int, int]], border: Range
) -> Tensor | None:
    """A tensor with so many elements before and after it in each dimension; ``None`` if partitions do not tell.

    That is the case for unknown ranks, for negative amounts, for amounts in dimensions of unknown size, and if there
    would be too many partitions.

    Args:
        ctx: of the analysis.
        node: the Pad.
        data: its partitions stay what they are, inside.
        amounts: before and after each dimension.
        border: range of the elements around it.
    """
    shape = ctx.shape(node)
    if shape is None or data.shape is None:
        return None
    cuts: list[tuple[int, ...]] = []
    owners: list[list[int | None]] = []
    for size, own, (before, after) in zip(data.shape, data.cuts, amounts, strict=True):
        cells = list(range(len(own) + 1))
        if not before and not after:
            cuts.append(own)
            owners.append([*cells])
            continue
        if before < 0 or after < 0 or not isinstance(size, int) or not size:
            return None
        starts = [*([0] if before else []), *(before + s for s in (0, *own)), *([before + size] if after else [])]
        cuts.append(tuple(starts[1:]))
        owners.append([*([None] if before else []), *cells, *([None] if after else [])])
    if math.prod(len(o) for o in owners) > ctx.grid.most:
        return None
    parts: list[Partition] = []
    for cell in itertools.product(*owners):
        inner = [i for i in cell if i is not None]
        inside = len(inner) == len(cell)
        parts.append(data.parts[place_in(inner, data.grid)] if inside else ctx.grid.fresh(border))
    return Tensor(ctx.dtype(node), shape, tuple(cuts), tuple(parts))


def overwritten(
    ctx: AnalysisContext, node: ir.Node, data: Tensor, indices: np.ndarray | None, updates: Range
) -> Tensor | None:
    """A tensor with elements replaced at known indices; ``None`` if partitions do not tell.

    The smallest box around the indices becomes partitions of their own: with the range of the updates if every element
    in it is replaced, else with the hull of both.

    Args:
        ctx: of the analysis.
        node: ScatterND, or an operator that has an axis.
        data: of known shape, not too large.
        indices: a constant's elements, ``None`` if they are unknown.
        updates: range of what is written.
    """
    static = data.static
    if indices is None or not indices.size or not static or not 0 < math.prod(static) <= MOST_ELEMENTS:
        return None
    if node.op_type == "ScatterND":
        places = list(np.moveaxis(indices, -1, 0))
    else:
        places = list(np.indices(indices.shape))
        places[ctx.attr(node, "axis", 0)] = indices
    if any(p.min() < -n or p.max() >= n for p, n in zip(places, static, strict=False)):
        return None
    written = np.zeros(static, dtype=bool)
    written[tuple(places)] = True
    box = [(int(found.min()), int(found.max()) + 1) for found in np.nonzero(written)]
    cuts = [tuple(e for e in ends if 0 < e < n) for ends, n in zip(box, static, strict=True)]
    fine = ctx.grid.refined(data, cuts)
    if not all({*c} <= {*own} for c, own in zip(cuts, fine.cuts, strict=True)):
        return None
    everywhere = bool(written[tuple(slice(*ends) for ends in box)].all())
    starts = [(0, *own) for own in fine.cuts]
    parts: list[Partition] = []
    for cell, part in zip(itertools.product(*starts), fine.parts, strict=True):
        inside = all(low <= start < high for start, (low, high) in zip(cell, box, strict=True))
        parts.append(ctx.grid.fresh(updates if everywhere else hull([part.range, updates])) if inside else part)
    return Tensor(ctx.dtype(node), ctx.shape(node), fine.cuts, tuple(parts))
