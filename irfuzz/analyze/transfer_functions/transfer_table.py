"""Every operator that the analysis follows, with its transfer function."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from irfuzz.analyze.abstract_domain.interval import INF, Range, hull, rounded
from irfuzz.analyze.abstract_domain.partitioned_tensor import Tensor
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, Transfer, operand
from irfuzz.analyze.transfer_functions.data_movement import MOVES, numbers, united
from irfuzz.analyze.transfer_functions.elementwise_table import ELEMENTWISE
from irfuzz.analyze.transfer_functions.losses import LOSSES
from irfuzz.analyze.transfer_functions.matmul_and_convolution import PRODUCTS
from irfuzz.analyze.transfer_functions.normalizations import NORMALIZATIONS
from irfuzz.analyze.transfer_functions.reductions_and_pooling import OPEN_SIZE, REDUCTIONS


def _constant(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Constant."""
    array = ctx.view.const_array(node.outputs[0])
    if array is None:
        return [ctx.top(node)]
    return [ctx.constant(array, ctx.dtype(node), node.outputs[0])]


def _uniform(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    low, high = float(ctx.attr(node, "low", 0.0)), float(ctx.attr(node, "high", 1.0))
    return [ctx.plain(node, Range(min(low, high) - 1e-3 * abs(low), max(low, high) + 1e-3 * abs(high)))]


def _normal(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """No generator of 32 or 64 bits goes beyond 40 deviations."""
    mean, scale = float(ctx.attr(node, "mean", 0.0)), abs(float(ctx.attr(node, "scale", 1.0)))
    return [ctx.plain(node, Range(mean - 40 * scale, mean + 40 * scale))]


def _sampled(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """GridSample: between the extremes, and 0 outside; cubic weights overshoot."""
    data = operand(inputs)
    r = hull([data.range, Range(0.0, 0.0)])
    if str(ctx.attr(node, "mode")) in ("cubic", "bicubic"):
        reach = 2.5 ** (len(data.shape) if data.shape is not None else 5) * r.magnitude
        return [ctx.plain(node, rounded(Range(-reach, reach, r.nan, loose=r.loose), ctx.format(node)))]
    slack = 1e-3 * r.magnitude if r.magnitude < INF else 0.0
    return [ctx.plain(node, rounded(Range(r.low - slack, r.high + slack, r.nan, loose=r.loose), ctx.format(node)))]


def _collected(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """SequenceConstruct: a sequence is what holds for all tensors in it."""
    return [ctx.plain(node, hull(t.range for t in inputs if t is not None))]


def _spectrum(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """DFT and STFT: sums of at most as many elements as a frame has, times numbers of magnitude 1 (and the window)."""
    data = operand(inputs)
    size = data.count() if data.count() < INF else OPEN_SIZE
    reach = data.range.magnitude * size
    if node.op_type == "STFT" and len(inputs) > 2 and inputs[2] is not None:
        reach *= max(inputs[2].range.magnitude, 1.0)
    form = ctx.format(node)
    # Sizes that are no powers of two are convolved, which multiplies spectra of up to four times the size.
    wild = reach * 16 * size * size > form.biggest or not data.range.finite
    high = INF if reach > form.biggest else reach * 1.01
    return [ctx.plain(node, Range(-high, high, wild, loose=data.range.loose))]


def _pooled_regions(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """RoiAlign: means or maxima of interpolated elements, and 0 outside."""
    data, regions = operand(inputs), operand(inputs, 1)
    r = hull([data.range, Range(0.0, 0.0)])
    slack = 1e-3 * r.magnitude if r.magnitude < INF else 0.0
    wild = r.nan or not regions.range.finite
    if 16 * r.magnitude > ctx.format(node).biggest:  # weights are summed before they are divided
        return [ctx.plain(node, Range(-INF, INF, nan=True, loose=r.loose))]
    return [ctx.plain(node, Range(r.low - slack, r.high + slack, wild, loose=r.loose))]


_OTHERS: Mapping[str, Transfer] = {
    "Bernoulli": numbers(0.0, 1.0),
    "BlackmanWindow": numbers(-1e-3, 1.001),
    "ConcatFromSequence": united(0),
    "Constant": _constant,
    "DFT": _spectrum,
    "GridSample": _sampled,
    "HammingWindow": numbers(-1e-3, 1.001),
    "HannWindow": numbers(-1e-3, 1.001),
    "MelWeightMatrix": numbers(0.0, 1.0 + 1e-3),
    "Multinomial": numbers(0.0, 2.0**31),
    "NonMaxSuppression": numbers(0.0, 2.0**62),
    "Optional": united(0, zero=True),
    "OptionalGetElement": united(0),
    "OptionalHasElement": numbers(0.0, 1.0),
    "RandomNormal": _normal,
    "RandomNormalLike": _normal,
    "RandomUniform": _uniform,
    "RandomUniformLike": _uniform,
    "RegexFullMatch": numbers(0.0, 1.0),
    "RoiAlign": _pooled_regions,
    "STFT": _spectrum,
    "SequenceAt": united(0),
    "SequenceConstruct": _collected,
    "SequenceEmpty": numbers(0.0, 0.0),
    "SequenceErase": united(0),
    "SequenceInsert": united(0, 1),
    "SequenceLength": numbers(0.0, 2.0**62),
    "SplitToSequence": united(0),
}

TRANSFER: Mapping[str, Transfer] = {
    **ELEMENTWISE,
    **LOSSES,
    **MOVES,
    **NORMALIZATIONS,
    **PRODUCTS,
    **REDUCTIONS,
    **_OTHERS,
}
"""By operator of the default domain; the result of any other is anything that its type holds, and is counted."""
