"""Expressions for nodes that pick or replace elements by index."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression


def gather(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Gather: ``Gather(x, index, axis=1)`` becomes ``gather(x, index, 1)``. The axis is always written, 0 by default;
    negative indices count from the end of that axis.
    """
    return ctx.call("gather", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "axis"))


def gather_elements(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GatherElements, from opset 11: ``GatherElements(x, index, axis=1)`` becomes ``gather_elements(x, index, 1)``. The
    result has the shape of ``index``, and negative indices count from the end.
    """
    return ctx.call("gather_elements", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "axis"))


def gather_nd(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GatherND, from opset 11: ``GatherND(x, index)`` becomes ``gather_nd(x, index, 0)``. The last number is
    ``batch_dims``, which came with opset 12: so many first axes of both go together.
    """
    return ctx.call("gather_nd", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "batch_dims", 0))


def _reduction(ctx: EmitterContext, node: ir.Node) -> str | None:
    reduction = ctx.attr(node, "reduction", "none")
    return None if reduction == "none" else reduction


def scatter_elements(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ScatterElements, and Scatter as it was called before opset 11.

    ``ScatterElements(x, index, updates, axis=1)`` becomes ``scatter_elements(x, index, updates, 1)``; a ``reduction``
    (from opset 16) other than ``none`` is passed by name. ``x`` is not edited.
    """
    return ctx.call("scatter_elements", *ctx.inputs(node), ctx.attr(node, "axis"), reduction=_reduction(ctx, node))


def scatter_nd(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ScatterND, from opset 11: ``ScatterND(x, index, updates)`` becomes ``scatter_nd(x, index, updates)``; a
    ``reduction`` (from opset 16) other than ``none`` is passed by name. ``x`` is not edited.
    """
    return ctx.call("scatter_nd", *ctx.inputs(node), reduction=_reduction(ctx, node))


def one_hot(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """OneHot, from opset 9: ``OneHot(index, depth, values)`` becomes ``one_hot(index, depth, values, -1)``. The last
    number is the new axis; ``values`` are (off, on) and give the element type of the result.
    """
    return ctx.call("one_hot", *ctx.inputs(node), ctx.attr(node, "axis"))


def top_k(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """TopK with its count as an attribute (before opset 10) or an input; ``largest`` came at opset 11.

    ``TopK(x, k, axis=1)`` becomes ``top_k(x, k, 1, 1)``, a tuple of values and indices, best first; the last number is
    ``largest``. ``sorted`` is not read: the result is always sorted, which ONNX allows.
    """
    k = ctx.input(node, 1)
    if k is None:
        k = ctx.form("scalar", value=ctx.attr(node, "k"))
    ctx.used.add("top_k")
    axis, largest = ctx.attr(node, "axis"), ctx.attr(node, "largest", 1)
    return TupleExpression(f"top_k({ctx.input(node, 0)}, {k}, {axis}, {largest})", 2)
