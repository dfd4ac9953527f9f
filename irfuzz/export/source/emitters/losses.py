"""Expressions for loss nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression


def nll_loss(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """NegativeLogLikelihoodLoss, from opset 12: it becomes ``nll_loss(x, target, weight, reduction="mean")``.

    ``x`` are log probabilities (N, C, ...), ``target`` classes (N, ...), and the weight of each class may be absent.
    ``ignore_index`` is passed if the node has it.
    """
    reduction, ignore = ctx.attr(node, "reduction"), ctx.attr(node, "ignore_index")
    return ctx.call("nll_loss", *ctx.inputs(node), reduction=reduction, ignore_index=ignore)


def cross_entropy(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SoftmaxCrossEntropyLoss, from opset 12: it becomes ``cross_entropy(x, target, weight, reduction="mean")``, a
    tuple of the loss and the log probabilities, also if the node has only the first of these outputs. ``ignore_index``
    is passed if the node has it.
    """
    reduction, ignore = ctx.attr(node, "reduction"), ctx.attr(node, "ignore_index")
    return TupleExpression(ctx.call("cross_entropy", *ctx.inputs(node), reduction=reduction, ignore_index=ignore), 2)
