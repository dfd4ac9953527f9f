"""Sums of products of abstract operands, with constant weights channel by channel."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx_ir as ir

from irfuzz.analyze.abstract_domain import interval
from irfuzz.analyze.abstract_domain.interval import INF, Range, hull, meet, rounded
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat
from irfuzz.analyze.abstract_domain.partitioned_tensor import Tensor
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, Transfer, operand
from irfuzz.analyze.transfer_functions.reductions_and_pooling import OPEN_SIZE, added


def dot(a: Range, b: Range, terms: tuple[float, float], form: NumberFormat) -> Range:
    """Sums of ``terms`` products (matrix product: the interval product times the inner size).

    Args:
        a: range of one operand.
        b: range of the other.
        terms: fewest and most products of one sum.
        form: that each product and sum is rounded to.
    """
    return added(rounded(interval.mul(a, b), form), *terms, form)


def weighed(data: Range, weights: np.ndarray, form: NumberFormat, terms: float) -> Range:
    """Bounds of ``weights @ x`` with all elements of x in ``data``: the worst of the rows of ``weights``.

    Args:
        data: finite.
        weights: float, rows x terms.
        form: of the result.
        terms: for the rounding of the sum.
    """
    positive = np.clip(weights, 0, None).sum(axis=1, dtype=np.float64)
    negative = np.clip(weights, None, 0).sum(axis=1, dtype=np.float64)
    low = float((positive * data.low + negative * data.high).min())
    high = float((positive * data.high + negative * data.low).max())
    size = float((positive - negative).max()) * data.magnitude
    slack = form.eps * (terms + 2) * size
    return rounded(Range(low - slack, high + slack, loose=data.loose), form)


def _rows(array: np.ndarray | None, form: NumberFormat) -> np.ndarray | None:
    """Constant weights that bounds can be computed from."""
    if array is None or not array.size or not form.floating:
        return None
    wide = array if array.dtype.name in ("float32", "float64") else array.astype(np.float32)
    return wide if bool(np.isfinite(wide).all()) else None


def _bounded(data: Range) -> bool:
    return data.finite and data.magnitude < 1e300


def matmul(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """MatMul: the interval product times the inner size, and bounds by rows if one operand is a constant.

    If neither operand is cut, equal products of equal operands are one symbol.
    """
    a, b = operand(inputs), operand(inputs, 1)
    form = ctx.format(node)
    size = _inner(a, b)
    bounds = dot(a.range, b.range, size, form)
    weights = _rows(b.array, form)
    if weights is not None and weights.ndim >= 2 and _bounded(a.range):
        bounds = meet(
            bounds, weighed(a.range, np.moveaxis(weights, -2, -1).reshape(-1, weights.shape[-2]), form, size[1])
        )
    weights = _rows(a.array, form)
    if weights is not None and weights.ndim >= 2 and _bounded(b.range):
        bounds = meet(bounds, weighed(b.range, weights.reshape(-1, weights.shape[-1]), form, size[1]))
    if a.whole and b.whole:
        symbol = ctx.grid.symbols.make(
            "MatMul", (*ctx.identity(node, a, a.parts[0]), *ctx.identity(node, b, b.parts[0])), bounds
        )
        return [ctx.grid.one(ctx.dtype(node), ctx.shape(node), ctx.grid.part(symbol))]
    return [ctx.plain(node, bounds)]


def _inner(a: Tensor, b: Tensor) -> tuple[float, float]:
    for shape, axis in ((a.shape, -1), (b.shape, -2 if b.shape is not None and len(b.shape) > 1 else 0)):
        if shape and isinstance(shape[axis], int):
            return float(shape[axis]), float(shape[axis])  # type: ignore[arg-type]
    return 1.0, OPEN_SIZE


def gemm(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Gemm: alpha * A @ B + beta * C, with A and B transposed as the attributes say.

    A constant B is weighed column by column; an absent C, or a beta of 0, adds nothing.
    """
    a, b = operand(inputs), operand(inputs, 1)
    form = ctx.format(node)
    alpha, beta = float(ctx.attr(node, "alpha", 1.0)), float(ctx.attr(node, "beta", 1.0))
    flipped_a, flipped_b = ctx.attr(node, "transA"), ctx.attr(node, "transB")
    size: tuple[float, float] = (1.0, OPEN_SIZE)
    for shape, axis in ((a.shape, 0 if flipped_a else 1), (b.shape, 1 if flipped_b else 0)):
        if shape is not None and isinstance(shape[axis], int):
            size = (float(shape[axis]), float(shape[axis]))  # type: ignore[arg-type]
    bounds = dot(a.range, b.range, size, form)
    weights = _rows(b.array, form)
    if weights is not None and _bounded(a.range):
        bounds = meet(bounds, weighed(a.range, weights if flipped_b else weights.T, form, size[1]))
    if alpha != 1:
        bounds = rounded(interval.scaled(bounds, alpha), form, 2)
    bias = inputs[2] if len(inputs) > 2 else None
    if bias is not None and beta:
        bounds = rounded(interval.add(bounds, rounded(interval.scaled(bias.range, beta), form)), form)
    return [ctx.plain(node, bounds)]


def conv(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Conv: padding adds 0 to what the input may be.

    Each result is a sum of as many products as a filter has elements; constant filters are weighed one by one. The bias
    is added by intervals.
    """
    data, weight = operand(inputs), operand(inputs, 1)
    form = ctx.format(node)
    r = hull([data.range, Range(0.0, 0.0)]) if _pads(ctx, node) else data.range
    static = weight.static
    terms = math.prod(float(d) for d in static[1:]) if static is not None else OPEN_SIZE
    bounds = dot(r, weight.range, (min(terms, 1.0) if static is None else terms, terms), form)
    rows = _rows(weight.array, form)
    if rows is not None and _bounded(r):
        bounds = meet(bounds, weighed(r, rows.reshape(rows.shape[0], -1), form, terms))
    return [ctx.plain(node, _biased(bounds, inputs, form))]


def _pads(ctx: AnalysisContext, node: ir.Node) -> bool:
    auto = str(ctx.attr(node, "auto_pad", "NOTSET"))
    return auto.startswith("SAME") or (auto == "NOTSET" and any(ctx.attr(node, "pads") or ()))


def _biased(bounds: Range, inputs: Inputs, form: NumberFormat) -> Range:
    bias = inputs[2] if len(inputs) > 2 else None
    return bounds if bias is None else rounded(interval.add(bounds, bias.range), form)


def conv_transpose(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """ConvTranspose: each result gets at most all taps of the kernel for each channel of its group, or none.

    By intervals, without looking at the elements of constant weights; an unknown weight shape gives up to 2**31
    products.
    """
    data, weight = operand(inputs), operand(inputs, 1)
    form = ctx.format(node)
    static = weight.static
    groups = float(ctx.attr(node, "group", 1))
    terms = OPEN_SIZE if static is None else static[0] / groups * math.prod(float(d) for d in static[2:])
    bounds = dot(hull([data.range, Range(0.0, 0.0)]), weight.range, (0.0, terms), form)
    return [ctx.plain(node, _biased(bounds, inputs, form))]


def einsum(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Einsum: products of all operands, summed over the letters that the result lacks.

    If an operand alone may overflow when it is summed, the result may be anything, NaN too. Equations with ``...`` or
    without ``->`` count as sums of up to 2**31 products.
    """
    tensors = [t for t in inputs if t is not None]
    form = ctx.format(node)
    equation = str(ctx.attr(node, "equation")).replace(" ", "")
    left, _, right = equation.partition("->")
    terms = 1.0
    if "." in equation or "->" not in equation:
        terms = OPEN_SIZE
    else:
        sizes: dict[str, float] = {}
        for letters, t in zip(left.split(","), tensors, strict=False):
            for letter, size in zip(letters, t.shape or (), strict=False):
                sizes[letter] = float(size) if isinstance(size, int) else OPEN_SIZE
        terms = math.prod(size for letter, size in sizes.items() if letter not in right)
    bounds = tensors[0].range
    if any(t.range.magnitude * t.count() > form.biggest for t in tensors) and form.floating:
        # Sums over letters of one operand alone may be taken first.
        return [ctx.plain(node, Range(-INF, INF, nan=True, loose=any(t.range.loose for t in tensors)))]
    for t in tensors[1:]:
        bounds = rounded(interval.mul(bounds, t.range), form)
    return [ctx.plain(node, added(bounds, 0.0, terms, form))]


def integer_product(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """MatMulInteger and ConvInteger: exact, modulo 2**32; zero points are taken off first.

    Sums that may exceed int32 may be any of its numbers. ConvInteger pads with what counts as 0.
    """
    a, b = operand(inputs), operand(inputs, 1)
    points = [t.range if t is not None else Range(0.0, 0.0) for t in (*inputs[2:4], None, None)][:2]
    left = interval.add(a.range, interval.neg(points[0]))
    right = interval.add(b.range, interval.neg(points[1]))
    if node.op_type == "ConvInteger":
        left = hull([left, Range(0.0, 0.0)])
        static = b.static
        terms = OPEN_SIZE if static is None else math.prod(float(d) for d in static[1:])
        size = (0.0, terms)
    else:
        size = _inner(a, b)
    return [ctx.plain(node, added(interval.mul(left, right), *size, ctx.format(node)))]


PRODUCTS: Mapping[str, Transfer] = {
    "Conv": conv,
    "ConvInteger": integer_product,
    "ConvTranspose": conv_transpose,
    "Einsum": einsum,
    "Gemm": gemm,
    "MatMul": matmul,
    "MatMulInteger": integer_product,
}
"""Operators that add up products."""
