"""Expressions for pooling nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression
from irfuzz.export.source.emitters.convolutions import window_attrs


def _ceil_mode(ctx: EmitterContext, node: ir.Node) -> int | None:
    """ceil_mode if it is set. Raises if ONNX contradicts itself."""
    ceil_mode = ctx.attr(node, "ceil_mode")
    if ceil_mode and ctx.attr(node, "auto_pad") == "VALID":
        raise ctx.unsupported(node, "ONNX's text and its shape inference differ on ceil_mode with auto_pad = VALID")
    return ceil_mode or None


def max_pool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MaxPool, with Indices if the node has a second output.

    ``MaxPool(x, kernel_shape=[2], strides=[2])`` becomes ``max_pool(x, (2,), strides=(2,))``; with Indices it is
    ``max_pool_indices``, which also takes ``storage_order`` and gives two values. ``ceil_mode`` with ``auto_pad =
    VALID`` raises ``Unsupported``.
    """
    x, kernel = ctx.input(node, 0), ctx.attr(node, "kernel_shape")
    attrs = window_attrs(ctx, node) | {"ceil_mode": _ceil_mode(ctx, node)}
    if len(node.outputs) < 2:
        return ctx.call("max_pool", x, kernel, **attrs)
    order = ctx.attr(node, "storage_order") or None
    return TupleExpression(ctx.call("max_pool_indices", x, kernel, **attrs, storage_order=order), 2)


def average_pool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """AveragePool: ``AveragePool(x, kernel_shape=[2])`` becomes ``average_pool(x, (2,))``.

    Strides, dilations, pads, ``ceil_mode`` and ``count_include_pad`` follow by name if they are not at their defaults.
    ``ceil_mode`` with ``auto_pad = VALID`` raises ``Unsupported``.
    """
    return ctx.call(
        "average_pool",
        ctx.input(node, 0),
        ctx.attr(node, "kernel_shape"),
        **window_attrs(ctx, node),
        ceil_mode=_ceil_mode(ctx, node),
        count_include_pad=ctx.attr(node, "count_include_pad") or None,
    )


def lp_pool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LpPool: ``LpPool(x, kernel_shape=[2])`` becomes ``lp_pool(x, (2,), p=2)``, with ``p`` always written.

    Strides, dilations, pads and ``ceil_mode`` follow by name if they are not at their defaults. ``ceil_mode`` with
    ``auto_pad = VALID`` raises ``Unsupported``.
    """
    return ctx.call(
        "lp_pool",
        ctx.input(node, 0),
        ctx.attr(node, "kernel_shape"),
        **window_attrs(ctx, node),
        ceil_mode=_ceil_mode(ctx, node),
        p=ctx.attr(node, "p"),
    )
