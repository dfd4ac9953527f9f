"""Losses: the range of what scores, labels and weights cost, and how that may fail."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import onnx_ir as ir

from irfuzz.analyze.abstract_domain import interval
from irfuzz.analyze.abstract_domain.interval import INF, Range, hull, rounded
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat
from irfuzz.analyze.abstract_domain.partitioned_tensor import Tensor
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, Transfer
from irfuzz.analyze.transfer_functions.reductions_and_pooling import OPEN_SIZE, added, counted

TINY = 1e-30
"""Of smaller weights products with a loss are rounded by as much as the weights themselves."""


def loss(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss: weighted means are between the extremes.

    Sums and single losses are bounded by the number of labels and the weights. A mean whose weights may add up to 0, or
    whose sum may overflow, may be anything; if labels may be ignored, it may be NaN.

    Args:
        ctx: of the analysis.
        node: its attribute ``reduction`` decides.
        inputs: scores (or log-probabilities), labels, and weights of the classes if there are any.
    """
    data, labels = inputs[0], inputs[1]
    weights = inputs[2] if len(inputs) > 2 else None
    assert data is not None
    assert labels is not None
    form = ctx.format(node)
    softmax = node.op_type == "SoftmaxCrossEntropyLoss"
    likelihood = _log_softmax(data, form) if softmax else data.range
    more = [ctx.plain(node, likelihood, i) for i in range(1, len(node.outputs))]
    cost = interval.neg(likelihood)
    if ctx.attr(node, "ignore_index") is not None:
        cost = hull([cost, Range(0.0, 0.0)])
    each = cost if weights is None else rounded(interval.mul(cost, weights.range), form)
    how = str(ctx.attr(node, "reduction", "mean"))
    if how == "none":
        return [ctx.plain(node, each), *more]
    least, most = counted(labels, None if labels.shape is None else tuple(range(len(labels.shape))))
    total = added(each, least, most, form)
    if how == "sum":
        return [ctx.plain(node, total), *more]
    ignored = _may_be_ignored(ctx, node, labels)
    if not total.finite or least < 1 or (weights is not None and weights.range.low <= 0):
        return [ctx.plain(node, Range(-INF, INF, nan=True, loose=total.loose)), *more]
    slack = form.eps * (2 * most + 4) * cost.magnitude
    slack += 1.0 if weights is not None and weights.range.low < TINY else 0.0
    bounds = rounded(Range(cost.low - slack, cost.high + slack, ignored, loose=total.loose), form, 64)
    return [ctx.plain(node, bounds), *more]


def _log_softmax(data: Tensor, form: NumberFormat) -> Range:
    """Over the second dimension: at most 0, and no further below than the scores are apart and many."""
    r = data.range
    if not r.finite:
        return Range(-INF, INF, nan=True, loose=r.loose)
    classes = data.shape[1] if data.shape is not None and len(data.shape) > 1 else None
    terms = float(classes) if isinstance(classes, int) and classes else OPEN_SIZE
    # Scores are rounded before they are subtracted, so their size counts too.
    slack = 64 * form.eps * (1 + r.magnitude)
    return rounded(Range(r.low - r.high - math.log(terms) - slack, slack, loose=r.loose), form)


def _may_be_ignored(ctx: AnalysisContext, node: ir.Node, labels: Tensor) -> bool:
    ignore = ctx.attr(node, "ignore_index")
    return ignore is not None and labels.range.low <= float(ignore) <= labels.range.high


def nothing_counts(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> Iterator[tuple[int, Range, str]]:
    """Which operand may let a mean divide by a sum of weights of 0, and what that needs.

    Yields:
        Index of the input (1 the labels, 2 the weights), its range, and the condition under which it cannot happen, for
        people. Nothing for reductions other than ``mean``.
    """
    labels = inputs[1]
    if str(ctx.attr(node, "reduction", "mean")) != "mean" or labels is None:
        return
    if _may_be_ignored(ctx, node, labels):
        yield 1, labels.range, f"a label that is not ignore_index {ctx.attr(node, 'ignore_index')}"
    weights = inputs[2] if len(inputs) > 2 else None
    if weights is not None and weights.range.low <= 0:
        yield 2, weights.range, "weights > 0, so that those of the labels do not add up to 0"


LOSSES: Mapping[str, Transfer] = {"NegativeLogLikelihoodLoss": loss, "SoftmaxCrossEntropyLoss": loss}
"""Losses, as training graphs end in."""
