"""Expressions for nodes that pick or replace elements by index."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression


def gather(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Gather."""
    return ctx.call("gather", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "axis"))


def gather_elements(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GatherElements."""
    return ctx.call("gather_elements", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "axis"))


def gather_nd(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GatherND; batch_dims from opset 12."""
    return ctx.call("gather_nd", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "batch_dims", 0))


def _reduction(ctx: EmitterContext, node: ir.Node) -> str | None:
    reduction = ctx.attr(node, "reduction", "none")
    return None if reduction == "none" else reduction


def scatter_elements(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ScatterElements, and Scatter as it was called before opset 11."""
    return ctx.call("scatter_elements", *ctx.inputs(node), ctx.attr(node, "axis"), reduction=_reduction(ctx, node))


def scatter_nd(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ScatterND."""
    return ctx.call("scatter_nd", *ctx.inputs(node), reduction=_reduction(ctx, node))


def one_hot(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """OneHot."""
    return ctx.call("one_hot", *ctx.inputs(node), ctx.attr(node, "axis"))


def top_k(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """TopK with its count as an attribute (before opset 10) or an input; ``largest`` came at opset 11."""
    k = ctx.input(node, 1)
    if k is None:
        k = ctx.form("scalar", value=ctx.attr(node, "k"))
    ctx.used.add("top_k")
    axis, largest = ctx.attr(node, "axis"), ctx.attr(node, "largest", 1)
    return TupleExpression(f"top_k({ctx.input(node, 0)}, {k}, {axis}, {largest})", 2)
