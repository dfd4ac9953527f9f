"""Normalisations: bounds that follow from how they divide."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx_ir as ir

from irfuzz.analyze.abstract_domain import interval
from irfuzz.analyze.abstract_domain.interval import INF, Range, hull, rounded
from irfuzz.analyze.abstract_domain.number_formats import SINGLE, NumberFormat
from irfuzz.analyze.abstract_domain.partitioned_tensor import Tensor
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, Transfer, operand
from irfuzz.analyze.transfer_functions.reductions_and_pooling import OPEN_SIZE, added, counted
from irfuzz.analyze.transfer_functions.unary_functions import sqrt


def batch_norm(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """BatchNormalization: with constant statistics channel by channel, else by intervals.

    In training mode the statistics are those of the batch, so a deviation is at most sqrt(n - 1) standard deviations of
    n elements per channel; of further outputs only the type is known.
    """
    data, scale, bias, mean, var = (t for t in inputs if t is not None)
    form = ctx.format(node)
    epsilon = float(ctx.attr(node, "epsilon"))
    if ctx.attr(node, "training_mode"):
        _, most = counted(data, None if data.shape is None else tuple(d for d in range(len(data.shape)) if d != 1))
        # A deviation is at most sqrt(n - 1) standard deviations.
        ratio = _normalised(data.range, most, form, epsilon, unfolded=True)
        bounds = _scaled(ratio, scale.range, bias.range, form)
        return [ctx.plain(node, bounds), *ctx.rest(node)]
    arrays = [t.array for t in (scale, bias, mean, var)]
    if all(a is not None for a in arrays) and data.range.finite and form.floating:
        with np.errstate(all="ignore"):
            s, b, m, v = (np.asarray(a).astype(np.float64) for a in arrays)
            factor = s / np.sqrt(v + epsilon)
            ends = np.stack([(data.range.low - m) * factor + b, (data.range.high - m) * factor + b])
            size = np.abs(factor) * (np.abs(m) + data.range.magnitude) + np.abs(b)
        low, high = float(ends.min(initial=np.inf)), float(ends.max(initial=-np.inf))
        if np.isfinite(ends).all() and ends.size:
            slack = 8 * form.eps * float(size.max())
            return [ctx.plain(node, rounded(Range(low - slack, high + slack, loose=data.range.loose), form))]
    spread = sqrt(rounded(interval.add(var.range, Range(epsilon, epsilon)), form), lambda _: None, form)
    centred = rounded(interval.add(data.range, interval.neg(mean.range)), form)
    ratio = rounded(interval.div(centred, spread, form), form, 4)
    # Computed as x * s - mean * s, s being the reciprocal of the root: each product is rounded.
    off = _over(4 * form.eps * (data.range.magnitude + mean.range.magnitude), max(spread.low, 0.0))
    if ratio.finite and off < INF:
        ratio = Range(ratio.low - off, ratio.high + off, loose=ratio.loose)
    return [
        ctx.plain(node, _scaled(ratio, scale.range, bias.range, form)),
        *ctx.rest(node),
    ]


def _scaled(ratio: Range, scale: Range, bias: Range, form: NumberFormat) -> Range:
    return rounded(interval.add(rounded(interval.mul(ratio, scale), form), bias), form, 4)


def _normalised(
    data: Range, terms: float, form: NumberFormat, epsilon: float, *, single: bool = False, unfolded: bool = False
) -> Range:
    """(x - mean) / sqrt(var + epsilon): at most sqrt(n - 1) in magnitude; NaN if the sum of squares overflows.

    The computed mean is off by as much as a sum of n is, so that even equal elements deviate from it: by the variance
    about that mean they are still at most sqrt(n).

    Args:
        data: x.
        terms: n.
        form: of the result.
        epsilon: it.
        single: half types are computed in single precision, and double ones may be (``stash_type``).
        unfolded: computed as x * s - mean * s, s being the reciprocal of the root: each product is rounded.
    """
    reach = math.sqrt(max(terms - 1, 0.0)) * (1 + 160 * form.eps) + 1e-3
    size = data.magnitude
    unit = SINGLE.eps if single else form.eps
    floor = math.sqrt(epsilon) if epsilon > 0 else 0.0
    if terms > 1:
        reach += min(_over(terms * unit * size, floor), math.sqrt(terms) - math.sqrt(terms - 1))
    if unfolded:
        reach += _over(4 * unit * size, floor)
    wild = (
        data.nan
        or size > 1e150
        or size * size * terms > (SINGLE.biggest if single else min(form.biggest, SINGLE.biggest))
    )
    return Range(-reach, reach, wild, loose=wild and data.loose)


def _over(error: float, floor: float) -> float:
    return error / floor if floor > 0 else INF if error > 0 else 0.0


def layer_norm(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """LayerNormalization: an element is at most sqrt(n - 1) standard deviations from the mean of the n elements from
    ``axis`` on; then scale and bias are applied by intervals.
    """
    data = operand(inputs)
    axis = ctx.attr(node, "axis", -1)
    _, terms = counted(data, None if data.shape is None else tuple(range(axis % len(data.shape), len(data.shape))))
    epsilon = float(ctx.attr(node, "epsilon", 1e-5))
    ratio = _normalised(data.range, terms, ctx.format(node), epsilon, single=True)
    return _affine(ctx, node, inputs, ratio)


def _affine(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, ratio: Range) -> list[Tensor]:
    form = ctx.format(node)
    given = [*inputs, None, None]
    scale, bias = given[1], given[2]
    bounds = ratio
    if scale is not None:
        bounds = rounded(interval.mul(bounds, scale.range), form)
    if bias is not None:
        bounds = rounded(interval.add(bounds, bias.range), form)
    bounds = rounded(bounds, form, 4)
    return [ctx.plain(node, bounds), *ctx.rest(node)]


def rms_norm(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """RMSNormalization: x / sqrt(mean(x * x) + epsilon) is at most sqrt(n) in magnitude.

    n is the number of elements from ``axis`` on; scale is applied by intervals.
    """
    data = operand(inputs)
    axis = ctx.attr(node, "axis", -1)
    _, terms = counted(data, None if data.shape is None else tuple(range(axis % len(data.shape), len(data.shape))))
    epsilon = float(ctx.attr(node, "epsilon", 1e-5))
    ratio = _normalised(data.range, terms + 1, ctx.format(node), epsilon, single=True)
    return _affine(ctx, node, inputs[:2], ratio)


def instance_norm(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """InstanceNormalization: an element is at most sqrt(n - 1) standard deviations from the mean of its channel, of n
    elements; then scale and bias are applied by intervals.
    """
    data = operand(inputs)
    _, terms = counted(data, None if data.shape is None else tuple(range(2, len(data.shape))))
    epsilon = float(ctx.attr(node, "epsilon", 1e-5))
    ratio = _normalised(data.range, terms, ctx.format(node), epsilon, single=True, unfolded=True)
    return _affine(ctx, node, inputs, ratio)


def group_norm(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """GroupNormalization: its function body takes the variance as mean(x * x) - mean(x) ** 2.

    Elements so large that rounding may make that negative (``equal_limit``) give anything, NaN too; of others the usual
    bound of sqrt(n - 1) deviations holds.
    """
    data = operand(inputs)
    terms, form, epsilon = grouped(ctx, node, data)
    if data.range.magnitude > equal_limit(terms, form, epsilon):
        return [ctx.plain(node, Range(-INF, INF, nan=True, loose=data.range.loose))]
    # What rounding takes from the variance is at most half of epsilon.
    return _affine(ctx, node, inputs, _normalised(data.range, terms, form, epsilon / 2))


def grouped(ctx: AnalysisContext, node: ir.Node, data: Tensor) -> tuple[float, NumberFormat, float]:
    """Most elements of a group of GroupNormalization, the format that it computes in, and epsilon in that format.

    The format is single precision if ``stash_type`` says so, else that of the output. An unknown size counts as 2**31.
    """
    _, terms = counted(data, None if data.shape is None else tuple(range(1, len(data.shape))))
    if data.shape is not None and isinstance(data.shape[1], int):
        terms /= max(int(ctx.attr(node, "num_groups")), 1)
    form = SINGLE if int(ctx.attr(node, "stash_type", 0)) == ir.DataType.FLOAT else ctx.format(node)
    return terms, form, float(ctx.attr(node, "epsilon", 1e-5))


def equal_limit(terms: float, form: NumberFormat, epsilon: float) -> float:
    """The largest magnitude of ``terms`` elements so that rounding takes at most epsilon / 2 from their variance.

    Args:
        terms: number of elements of a group; the variance of one alone is exact, and the limit infinite.
        form: that mean(x * x) - mean(x) ** 2 is computed in.
        epsilon: is added to the variance; without one the limit is 0.
    """
    return INF if terms <= 1 else math.sqrt(epsilon / (2 * (2 * terms + 4) * form.eps)) if epsilon > 0 else 0.0


def mean_variance(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """MeanVarianceNormalization: 1e-9 is added to the deviation.

    Mean and variance are over ``axes``, 0, 2 and 3 by default; an element is at most sqrt(n - 1) deviations from the
    mean.
    """
    data = operand(inputs)
    axes = tuple(ctx.attr(node, "axes") or (0, 2, 3))
    _, terms = counted(data, None if data.shape is None else axes)
    return _affine(ctx, node, (data,), _normalised(data.range, terms, ctx.format(node), 1e-18))


def lrn(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """LRN: x / (bias + alpha / size * sum of squares) ** beta.

    If bias is positive, neither alpha nor beta negative, and no sum of squares overflows, the result is within x * bias
    ** -beta; else it may be anything.
    """
    data = operand(inputs)
    form = ctx.format(node)
    bias, alpha, beta = (float(ctx.attr(node, n)) for n in ("bias", "alpha", "beta"))
    squares = added(rounded(interval.square(data.range), form, low=0.0), 1.0, float(ctx.attr(node, "size")), form)
    if bias <= 0 or alpha < 0 or beta < 0 or not squares.finite:
        return [ctx.top(node)]
    largest = hull([rounded(interval.scaled(data.range, bias**-beta), form, 64), Range(0.0, 0.0)])
    return [ctx.plain(node, largest)]


def lp_norm(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """LpNormalization: shares of a norm; NaN if that is 0 (ONNX does not define it).

    The result is within [-1, 1] but for rounding; NaN is possible if the input may hold 0, NaN or an infinity.
    """
    data = operand(inputs)
    form = ctx.format(node)
    wild = data.range.zero or not data.range.finite
    return [ctx.plain(node, Range(-1 - 64 * form.eps, 1 + 64 * form.eps, wild))]


def recurrent(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """RNN, LSTM and GRU with their default activations: hidden states are within [-1, 1] or of the initial one.

    An LSTM's cell state grows by at most 1 in each step of the sequence. With an attribute ``activations`` the outputs
    may be anything. All outputs may be NaN if an input may be infinite or products may overflow.
    """
    if node.attributes.get("activations") is not None:
        return [ctx.top(node, i) for i in range(len(node.outputs))]
    first = inputs[5] if len(inputs) > 5 else None
    form = ctx.format(node)
    edge = Range(-1 - 64 * form.eps, 1 + 64 * form.eps)
    wild = any(t is not None and not t.range.finite for t in inputs)
    data, size = inputs[0], INF
    weights = [t.range.magnitude for t in inputs[:4] if t is not None]
    if data is not None and data.shape is not None:
        size = float(data.shape[0]) if isinstance(data.shape[0], int) else 2.0**31
    hidden = hull([edge, first.range]) if first is not None else edge
    # A product of two may overflow within, and the difference of two infinities is NaN.
    reach = max(weights, default=0.0)
    wild = wild or reach * reach * OPEN_SIZE > form.biggest
    hidden = Range(hidden.low, hidden.high, wild or hidden.nan)
    outputs = [ctx.plain(node, hidden, i) for i in range(min(len(node.outputs), 2))]
    if len(node.outputs) > 2:
        cell = inputs[6].range if len(inputs) > 6 and (inputs[6] is not None) else Range(0.0, 0.0)  # type: ignore[union-attr]
        # Each turn keeps a share of the cell and adds a number within [-1, 1].
        reached = Range(min(cell.low, 0.0) - size, max(cell.high, 0.0) + size, wild)
        outputs.append(ctx.plain(node, rounded(reached, form, size), 2))
    return outputs


def quantize(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """QuantizeLinear and its like: saturated to the integer type of each output; floating-point (float8) outputs may be
    anything.
    """
    found: list[Tensor] = []
    for index in range(len(node.outputs)):
        form = ctx.format(node, index)
        found.append(
            ctx.plain(node, Range(form.lowest, form.biggest), index) if not form.floating else ctx.top(node, index)
        )
    return found


def dequantize(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """DequantizeLinear: (x - zero point) * scale, by intervals over all channels; an absent zero point is 0."""
    data, scale = operand(inputs), operand(inputs, 1)
    form = ctx.format(node)
    zero = inputs[2].range if len(inputs) > 2 and (inputs[2] is not None) else Range(0.0, 0.0)  # type: ignore[union-attr]
    moved = interval.add(Range(data.range.low, data.range.high, data.range.nan), interval.neg(zero))
    return [ctx.plain(node, rounded(interval.mul(moved, scale.range), form, 2))]


def dynamic_quantize(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """DynamicQuantizeLinear: the scale is the width of the range, 0 included, over 255.

    The quantised elements and the zero point are from 0 to 255. Input that may be infinite or NaN gives an unlimited
    scale.
    """
    data = operand(inputs)
    r = hull([data.range, Range(0.0, 0.0)])
    # Where all elements are 0, runtimes give 1.
    width = max(r.high - r.low, 255.0 if r.zero else 0.0) if r.finite else INF
    form = ctx.format(node, 1) if len(node.outputs) > 1 else ctx.format(node)
    found = [
        ctx.plain(node, Range(0.0, 255.0)),
        ctx.plain(node, rounded(Range(0.0, width / 255, loose=r.loose), form, 4, 0.0), 1),
    ]
    return [*found, ctx.plain(node, Range(0.0, 255.0), 2)][: len(node.outputs)]


def resize(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Resize and Upsample: between the extremes; cubic weights overshoot by at most 1.5 in each dimension.

    ``nearest`` gives elements of the input unrounded. ``tf_crop_and_resize`` adds its ``extrapolation_value`` to what
    may come.
    """
    data = operand(inputs)
    form = ctx.format(node)
    mode = str(ctx.attr(node, "mode", "nearest"))
    r = data.range
    if str(ctx.attr(node, "coordinate_transformation_mode", "")) == "tf_crop_and_resize":
        outside = float(ctx.attr(node, "extrapolation_value", 0.0))
        whole = not form.floating  # which way it goes to an integer is nowhere said
        border = Range(math.floor(outside), math.ceil(outside)) if whole else Range(outside, outside)
        r = hull([r, rounded(border, form, 1)])
    if mode == "nearest":
        return [ctx.plain(node, r)]
    if mode == "cubic":
        rank = len(data.shape) if data.shape is not None else 5
        reach = 2.5**rank * r.magnitude
        return [ctx.plain(node, rounded(Range(-reach, reach, r.nan, loose=r.loose), form, 64))]
    return [ctx.plain(node, rounded(r, form, 64))]


def dropout(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Dropout: its input; in training some elements are 0 and the others are scaled up.

    The scale is 1 / (1 - ratio), with a ratio of 0.5 if it is not given. A mask, if asked for, is 0 or 1.
    """
    data = operand(inputs)
    training = inputs[2] if len(inputs) > 2 else None
    form = ctx.format(node)
    first = data
    if training is not None and not (training.range.point and training.range.low == 0):
        ratio = inputs[1].range if inputs[1] is not None else Range(0.5, 0.5)
        scale = interval.div(Range(1.0, 1.0), rounded(interval.add(Range(1.0, 1.0), interval.neg(ratio)), form), form)
        first = ctx.plain(node, hull([data.range, Range(0.0, 0.0), rounded(interval.mul(data.range, scale), form, 4)]))
    return [first, *(ctx.plain(node, Range(0.0, 1.0), i) for i in range(1, len(node.outputs)))]


NORMALIZATIONS: Mapping[str, Transfer] = {
    "BatchNormalization": batch_norm,
    "DequantizeLinear": dequantize,
    "Dropout": dropout,
    "DynamicQuantizeLinear": dynamic_quantize,
    "GRU": recurrent,
    "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm,
    "LRN": lrn,
    "LSTM": recurrent,
    "LayerNormalization": layer_norm,
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mean_variance,
    "QLinearConv": quantize,
    "QLinearMatMul": quantize,
    "QuantizeLinear": quantize,
    "RMSNormalization": rms_norm,
    "RNN": recurrent,
    "Resize": resize,
    "Upsample": resize,
}
"""Normalisations, recurrent layers, quantisation, resizing and dropout."""
