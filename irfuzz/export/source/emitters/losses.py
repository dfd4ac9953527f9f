"""Expressions for loss nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression


def nll_loss(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """NegativeLogLikelihoodLoss."""
    reduction, ignore = ctx.attr(node, "reduction"), ctx.attr(node, "ignore_index")
    return ctx.call("nll_loss", *ctx.inputs(node), reduction=reduction, ignore_index=ignore)


def cross_entropy(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SoftmaxCrossEntropyLoss: (loss, log probabilities)."""
    reduction, ignore = ctx.attr(node, "reduction"), ctx.attr(node, "ignore_index")
    return TupleExpression(ctx.call("cross_entropy", *ctx.inputs(node), reduction=reduction, ignore_index=ignore), 2)
