"""Reductions, pools, softmax and running sums: ranges that hold for any order of summing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import onnx_ir as ir

from irfuzz.analyze.abstract_domain import interval
from irfuzz.analyze.abstract_domain.affine_relations import Symbol
from irfuzz.analyze.abstract_domain.interval import INF, Range, hull, meet, rounded
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat
from irfuzz.analyze.abstract_domain.partitioned_tensor import Partition, Tensor
from irfuzz.analyze.abstract_domain.reduction_relations import is_reduction, unspread
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, Transfer, any_finite, operand
from irfuzz.analyze.transfer_functions.unary_functions import log, most_of, sqrt

OPEN_SIZE = 2.0**31
"""A size that the model leaves open is from 1 to this."""


def reduced_axes(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> tuple[int, ...] | None:
    """Axes that a reduction reduces, non-negative; ``None`` if they are not known. Empty: it does nothing.

    Args:
        ctx: of the analysis.
        node: has the axes as an attribute in older opsets, and ``noop_with_empty_axes``.
        inputs: the data, and the axes if they are an input.

    Returns:
        Sorted; all axes if none are given. ``None`` for axes that are computed and for data of unknown rank.
    """
    data = operand(inputs)
    rank = None if data.shape is None else len(data.shape)
    given = inputs[1] if len(inputs) > 1 else None
    if given is not None:
        if given.array is None:
            return None
        axes = tuple(int(a) for a in given.array.reshape(-1))
    else:
        axes = tuple(ctx.attr(node, "axes") or ())
    if rank is None:
        return None
    if not axes:
        return () if ctx.attr(node, "noop_with_empty_axes") else tuple(range(rank))
    return tuple(sorted(a % rank for a in axes))


def counted(data: Tensor, axes: tuple[int, ...] | None) -> tuple[float, float]:
    """Fewest and most elements that go into one result; a size that has a name is at least 1.

    Args:
        data: what is reduced.
        axes: over which; ``None`` if they are not known, which gives 0 and 2**31. An unknown size counts up to 2**31.
    """
    if axes is None or data.shape is None:
        return 0.0, OPEN_SIZE
    least = most = 1.0
    for axis in axes:
        size = data.shape[axis]
        least *= size if isinstance(size, int) else 1.0
        most *= size if isinstance(size, int) else OPEN_SIZE
    return least, (0.0 if least == 0 else most)


def added(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    """Sums of ``least`` to ``most`` elements in any order: every partial sum is rounded.

    Args:
        r: of the elements.
        least: number of them; may be 0.
        most: likewise, perhaps infinite; 0 gives exactly 0.
        form: of the sum. Integers wrap around to anything if the exact sum may overflow.
    """
    if most == 0:
        return Range(0.0, 0.0)
    low = r.low * (most if r.low < 0 else least) if r.low else 0.0
    high = r.high * (most if r.high > 0 else least) if r.high else 0.0
    nan = r.nan or (r.low == -INF and r.high == INF)
    terms = min(most, 2.0**40)
    loose = r.loose
    # With r the unit of rounding, the error of a sum of n terms is at most about n * r * (sum of magnitudes).
    slack = form.eps * terms * (r.magnitude * terms if r.magnitude < INF and most < INF else 0.0)
    slack_low = slack_high = slack
    # Of numbers with one sign the relative error of a sum is bounded.
    if r.low >= 0:
        slack_low = low * min(form.eps * terms, 1.0)
    if r.high <= 0:
        slack_high = -high * min(form.eps * terms, 1.0)
    found = Range(low - slack_low, high + slack_high, nan, loose=loose)
    floor = r.low if r.low >= 0 and least >= 1 else -INF
    if not form.floating:
        return rounded(Range(low, high, loose=loose), form)
    return rounded(found, form, 1.0, max(-INF, floor))


def _mean(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    """Mean: between the extremes but for rounding; NaN of no elements."""
    if not form.floating:
        return (
            Range(r.low, r.high, loose=r.loose)
            if least >= 1 and most * r.magnitude <= form.biggest
            else any_finite(form)
        )
    nan = r.nan or least < 1 or (r.low == -INF and r.high == INF)
    terms = min(most, 2.0**30)
    # The sum may overflow where the mean would not.
    over = most * r.magnitude > form.biggest and most > 1
    share = min(form.eps * (terms + 2), 1.0)
    slack = share * r.magnitude if r.magnitude < INF else 0.0
    slack_low, slack_high = (share * r.low if r.low >= 0 else slack), (-share * r.high if r.high <= 0 else slack)
    if least >= 1 and most <= form.biggest:
        # However many there are, rounding takes no sum of numbers of one sign below the smallest of them.
        slack_low = min(slack_low, r.low * (1 - 0.5 / most)) if r.low > 0 else slack_low
        slack_high = min(slack_high, -r.high * (1 - 0.5 / most)) if r.high < 0 else slack_high
    low = -INF if over and r.low < 0 and most * r.low < -form.biggest else r.low - slack_low
    high = INF if over and r.high > 0 and most * r.high > form.biggest else r.high + slack_high
    return rounded(
        Range(max(low, 0.0) if r.low >= 0 else low, min(high, 0.0) if r.high <= 0 else high, nan, loose=r.loose), form
    )


def _absolute_sum(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    return added(interval.absolute(r), least, most, form)


def _square_sum(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    return added(rounded(interval.square(r), form, low=0.0), least, most, form)


def _norm(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    return sqrt(_square_sum(r, least, most, form), lambda _: None, form) if form.floating else any_finite(form)


def _log_sum(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    return log(added(r, least, most, form), lambda _: None, form) if form.floating else any_finite(form)


def _log_sum_exp(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    """Between the largest element and that plus the logarithm of their number.

    onnxruntime, PyTorch, TensorFlow and OpenVINO subtract the maximum before they take exponentials.
    """
    if not form.floating:
        return any_finite(form)
    if least < 1:
        return Range(-INF, INF, r.nan, loose=r.loose)
    high = r.high + (math.log(most) if most < INF else 100.0)
    # The logarithm's rounding does not shrink with the result: what is added to the maximum is rounded on its own.
    slack = 64 * form.eps * max(1.0, high - r.high)
    return rounded(Range(r.low + math.log(least) - slack, high + slack, r.nan, loose=r.loose), form, 64)


def _product(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    """Products: by magnitude; of numbers within [-1, 1] they stay there."""
    if most == 0:
        return Range(1.0, 1.0)
    peak = max(r.magnitude, 1.0)
    try:
        high = peak**most if most < INF or peak > 1 else 1.0
    except OverflowError:
        high = INF
    low = 0.0 if r.low >= 0 else -high
    if least == most == 1:
        return r
    return rounded(Range(low, high, r.nan, loose=r.loose), form, min(most, 2.0**20), 0.0 if r.low >= 0 else -INF)


def _extreme(r: Range, least: float, most: float, form: NumberFormat) -> Range:
    """Maximum and minimum: of no elements an infinity, or the end of an integer type."""
    if least < 1:
        empty = Range(-INF, INF) if form.floating else any_finite(form)
        return hull([r, empty]) if most else empty
    return Range(r.low, r.high, r.nan, loose=r.loose)


Summary = Callable[[Range, float, float, NumberFormat], Range]


def reduction(summary: Summary) -> Transfer:
    """The transfer function of a reduction, for each partition of what is left of the grid.

    Cuts of reduced axes are merged first. Without axes to reduce (``noop_with_empty_axes``) the result covers the
    elements as they are and, for ReduceSumSquare, ReduceLogSum and their like, with the function taken, as ONNX says
    since opset 18.

    Args:
        summary: gives the range of one result from that of the elements, their fewest and most, and the format.
    """

    def transfer(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
        data = operand(inputs)
        axes = reduced_axes(ctx, node, inputs)
        form = ctx.format(node)
        if axes == ():
            # Nothing is reduced, but squares, logarithms and the like are still taken (ONNX says so since opset 18).
            one = summary(data.range, 1.0, 1.0, form)
            plain = node.op_type in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
            return [data if plain else ctx.plain(node, hull([one, data.range]))]
        shape = ctx.shape(node)
        dropped = (axes or ()) if not ctx.attr(node, "keepdims", 1) else ()
        return [_reduced(ctx, node, data, axes, shape, dropped, summary, form)]

    return transfer


def _reduced(
    ctx: AnalysisContext,
    node: ir.Node,
    data: Tensor,
    axes: tuple[int, ...] | None,
    shape: tuple[int | str | None, ...] | None,
    dropped: tuple[int, ...],
    summary: Summary,
    form: NumberFormat,
) -> Tensor:
    least, most = counted(data, axes)
    if axes is None or data.shape is None or shape is None:
        return ctx.plain(node, summary(data.range, least, most, form))
    partial = ctx.grid.merged(data, lambda d: d not in axes)
    parts: list[Partition] = []
    for part in partial.parts:
        bounds = summary(part.range, least, most, form)
        if node.op_type == "ReduceSum" and ctx.grid.symbols.relations:
            bounds = _of_exponentials(part.symbol, axes, bounds, form)
        own, *sizes = ctx.identity(node, data, part)
        symbol = ctx.grid.symbols.make(node.op_type, (own, axes, bool(dropped), *sizes), bounds)
        parts.append(ctx.grid.part(symbol))
    cuts = tuple(() if d in axes else c for d, c in enumerate(partial.cuts) if d not in dropped)
    return Tensor(ctx.dtype(node), shape, cuts, tuple(parts))


def _of_exponentials(symbol: Symbol, axes: tuple[int, ...], bounds: Range, form: NumberFormat) -> Range:
    """A sum of exp(x - max(x)) is at least 1: one of its terms is exp(0), and none is negative."""
    if symbol.kind != "Exp" or not isinstance(symbol.args[0], Symbol):
        return bounds
    difference = symbol.args[0]
    if difference.kind != "Sub":
        return bounds
    a, b = difference.args[-2:]
    if isinstance(a, Symbol) and isinstance(b, Symbol):
        extreme = unspread(b)
        if is_reduction(extreme, "ReduceMax", a) and extreme.args[1] == axes:
            return meet(bounds, Range(1.0 - 4 * form.eps, INF, bounds.nan, loose=bounds.loose))
    return bounds


def softmax(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Softmax: within [0, 1]; above 0 if the inputs are not too far apart; NaN of infinities.

    The upper end is what runtimes were measured to compute (``most_of``). Before opset 13 the sum is over everything
    from the axis on.
    """
    data = operand(inputs)
    form = ctx.format(node)
    r = data.range
    wild = r.nan or r.high == INF or (r.low == -INF)
    terms = _terms(ctx, node, data)
    spread = r.high - r.low if r.finite else INF
    low = 0.0
    if spread < 700 and 0 < terms < INF:
        low = max(math.exp(-spread) / terms * (1 - 64 * form.eps) - 2 * form.smallest, 0.0)
        if low < 4 * form.smallest:
            low = 0.0
    whole = ctx.grid.smashed(data)
    symbol = ctx.grid.symbols.make(
        node.op_type,
        (*ctx.key(node)[1:], *ctx.identity(node, whole, whole.parts[0])),
        Range(low, most_of(node.op_type, form), wild),
    )
    return [ctx.grid.one(ctx.dtype(node), ctx.shape(node), ctx.grid.part(symbol))]


def _terms(ctx: AnalysisContext, node: ir.Node, data: Tensor) -> float:
    """Elements along the axis; before opset 13 everything from the axis on."""
    if data.shape is None:
        return OPEN_SIZE
    axis = ctx.attr(node, "axis", -1 if ctx.opset >= 13 else 1)
    sizes = data.shape[axis:] if ctx.opset < 13 else (data.shape[axis],) if data.shape else ()
    return math.prod(float(d) if isinstance(d, int) else OPEN_SIZE for d in sizes)


def log_softmax(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """LogSoftmax: at most 0, and no further below than the inputs are apart plus the logarithm of their number.

    Both ends are widened for rounding. Inputs that may be infinite or NaN give negative infinity and NaN.
    """
    data = operand(inputs)
    form = ctx.format(node)
    r = data.range
    wild = not r.finite
    terms = _terms(ctx, node, data)
    low = -INF if wild else -(r.high - r.low) - (math.log(terms) if 0 < terms < INF else 100.0)
    bounds = rounded(Range(low, 0.0, wild, loose=r.loose), form, 64)
    return [ctx.plain(node, Range(bounds.low, 64 * form.eps, bounds.nan, loose=r.loose))]


def hardmax(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Hardmax: 0 or 1, whatever its input is; the analysis does not follow which element is the 1."""
    return [ctx.plain(node, Range(0.0, 1.0))]


def position(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """ArgMax and ArgMin: from 0 to the size of the axis less 1, or to 2**62 if that size is not known."""
    data = operand(inputs)
    size = None
    if data.shape:
        size = data.shape[ctx.attr(node, "axis", 0)]
    return [ctx.plain(node, Range(0.0, float(size - 1) if isinstance(size, int) and size > 0 else 2.0**62))]


def running(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """CumSum and CumProd: sums (products) of one to all elements along the axis, or of none.

    If the axis is not known, it is taken for the longest; unknown sizes count up to 2**31.
    """
    data = operand(inputs)
    form = ctx.format(node)
    axis = inputs[1]
    size: float = OPEN_SIZE
    if data.shape is not None:
        at = None if axis is None or axis.array is None else int(axis.array.reshape(-1)[0])
        sizes = data.shape if at is None else (data.shape[at],)
        size = max((float(d) if isinstance(d, int) else OPEN_SIZE for d in sizes), default=1.0)
    if node.op_type == "CumSum":
        return [ctx.plain(node, hull([added(data.range, 0.0, size, form), Range(0.0, 0.0)]))]
    return [ctx.plain(node, hull([_product(data.range, 1.0, size, form), Range(1.0, 1.0), Range(0.0, 0.0)]))]


def _window(ctx: AnalysisContext, node: ir.Node) -> float:
    return math.prod(float(k) for k in ctx.attr(node, "kernel_shape") or (1,))


def _area(data: Tensor) -> tuple[float, float]:
    """Elements behind the channel."""
    return counted(data, None if data.shape is None else tuple(range(2, len(data.shape))))


def average_pool(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """AveragePool: means of windows, with padding if it is included.

    With ``count_include_pad`` or ``ceil_mode`` zeros may be among the elements. Rounding and overflow of a sum of a
    whole window count.
    """
    data = operand(inputs)
    padded = bool(ctx.attr(node, "count_include_pad", 0)) or bool(ctx.attr(node, "ceil_mode", 0))
    r = hull([data.range, Range(0.0, 0.0)]) if padded else data.range
    return [ctx.plain(node, _mean(r, 1.0, _window(ctx, node), ctx.format(node)))]


def max_pool(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """MaxPool: its elements; windows of padding alone do not occur in valid calls but give the lowest number.

    If the input may hold NaN, the lower end is negative infinity, as onnxruntime ignores NaN. Indices are from 0 to
    2**62.
    """
    data = operand(inputs)
    return [
        ctx.plain(node, _windowed(data.range)),
        *(ctx.plain(node, Range(0.0, 2.0**62), i) for i in range(1, len(node.outputs))),
    ]


def _windowed(r: Range) -> Range:
    """The largest elements of windows: onnxruntime leaves NaN out; of nothing it gives the lowest number."""
    return replace(r, low=-INF, nonzero=False) if r.nan else r


def global_maximum(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """GlobalMaxPool: the range of the input; if that may hold NaN, down to negative infinity, as onnxruntime ignores
    NaN.
    """
    (found,) = global_pool(_extreme)(ctx, node, inputs)
    return [ctx.plain(node, _windowed(found.range))]


def global_pool(summary: Summary) -> Transfer:
    """The transfer function of GlobalAveragePool and its like, over all dimensions behind the channel.

    Args:
        summary: gives the range of one result from that of the elements, their fewest and most, and the format.
    """

    def transfer(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
        data = operand(inputs)
        return [ctx.plain(node, summary(data.range, *_area(data), ctx.format(node)))]

    return transfer


def lp(area: Callable[[AnalysisContext, ir.Node, Tensor], tuple[float, float]]) -> Transfer:
    """The transfer function of LpPool and GlobalLpPool: at most count ** (1 / p) times the largest magnitude.

    Infinite if the sum of the powers may overflow.

    Args:
        area: gives fewest and most elements of one result.
    """

    def transfer(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
        data = operand(inputs)
        form = ctx.format(node)
        _, most = area(ctx, node, data)
        p = float(ctx.attr(node, "p", 2) or 2)
        peak = data.range.magnitude
        try:
            powers = most * peak**p if peak else 0.0
        except OverflowError:
            powers = INF
        over = powers > form.biggest
        high = INF if over or most == INF else most ** (1 / p) * peak
        return [
            ctx.plain(
                node,
                rounded(Range(0.0, high, data.range.nan, loose=data.range.loose), form, 64 + min(most, 2.0**20), 0.0),
            )
        ]

    return transfer


REDUCTIONS: Mapping[str, Transfer] = {
    "ArgMax": position,
    "ArgMin": position,
    "AveragePool": average_pool,
    "CumProd": running,
    "CumSum": running,
    "GlobalAveragePool": global_pool(_mean),
    "GlobalLpPool": lp(lambda ctx, node, data: _area(data)),
    "GlobalMaxPool": global_maximum,
    "Hardmax": hardmax,
    "LogSoftmax": log_softmax,
    "LpPool": lp(lambda ctx, node, data: (1.0, _window(ctx, node))),
    "MaxPool": max_pool,
    "ReduceL1": reduction(_absolute_sum),
    "ReduceL2": reduction(_norm),
    "ReduceLogSum": reduction(_log_sum),
    "ReduceLogSumExp": reduction(_log_sum_exp),
    "ReduceMax": reduction(_extreme),
    "ReduceMean": reduction(_mean),
    "ReduceMin": reduction(_extreme),
    "ReduceProd": reduction(_product),
    "ReduceSum": reduction(added),
    "ReduceSumSquare": reduction(_square_sum),
    "Softmax": softmax,
}
"""Operators that put several elements into one."""
