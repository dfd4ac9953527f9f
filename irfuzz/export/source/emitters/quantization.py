"""Expressions for quantised nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, TupleExpression
from irfuzz.export.source.framework_description import FLOATS


def _dtype(ctx: EmitterContext, node: ir.Node, name: str) -> Code | None:
    number = ctx.attr(node, name, 0)
    return ctx.spelled(node, number) if number else None


def quantize(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """QuantizeLinear to 8 and 16 bit integers, per tensor, axis or block."""
    output = ctx.attr(node, "output_dtype", 0)
    if output and ir.DataType(output) in FLOATS:
        raise ctx.unsupported(node, f"output_dtype {ir.DataType(output).name}")
    return ctx.call(
        "quantize",
        *ctx.inputs(node),
        axis=ctx.attr(node, "axis", 1),
        block_size=ctx.attr(node, "block_size", 0) or None,
        dtype=_dtype(ctx, node, "output_dtype"),
        precision=_dtype(ctx, node, "precision"),
    )


def dequantize(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DequantizeLinear, per tensor, axis or block."""
    return ctx.call(
        "dequantize",
        *ctx.inputs(node),
        axis=ctx.attr(node, "axis", 1),
        block_size=ctx.attr(node, "block_size", 0) or None,
        dtype=_dtype(ctx, node, "output_dtype"),
    )


def dynamic_quantize(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DynamicQuantizeLinear."""
    return TupleExpression(ctx.call("dynamic_quantize", ctx.input(node, 0)), 3)
