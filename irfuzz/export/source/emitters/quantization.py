"""Expressions for quantised nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, TupleExpression
from irfuzz.export.source.framework_description import FLOATS


def _dtype(ctx: EmitterContext, node: ir.Node, name: str) -> Code | None:
    number = ctx.attr(node, name, 0)
    return ctx.spelled(node, number) if number else None


def quantize(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """QuantizeLinear, from opset 10, to 8 and 16 bit integers, per tensor, axis or block.

    ``QuantizeLinear(x, scale, zero)`` becomes ``quantize(x, scale, zero, axis=1)``. ``block_size``, ``output_dtype``
    (as ``dtype``) and ``precision`` follow if they are set. An ``output_dtype`` that is a floating type raises
    ``Unsupported``, as does any type that the framework lacks.
    """
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
    """DequantizeLinear, from opset 10, per tensor, axis or block.

    ``DequantizeLinear(x, scale, zero)`` becomes ``dequantize(x, scale, zero, axis=1)``. ``block_size`` and
    ``output_dtype`` (as ``dtype``) follow if they are set; a type that the framework lacks raises ``Unsupported``.
    """
    return ctx.call(
        "dequantize",
        *ctx.inputs(node),
        axis=ctx.attr(node, "axis", 1),
        block_size=ctx.attr(node, "block_size", 0) or None,
        dtype=_dtype(ctx, node, "output_dtype"),
    )


def dynamic_quantize(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DynamicQuantizeLinear, from opset 11: it becomes ``dynamic_quantize(x)``, a tuple of (uint8 tensor, scale, zero
    point), of which the node may use any. The scale is that of the range of ``x`` widened to hold 0.
    """
    return TupleExpression(ctx.call("dynamic_quantize", ctx.input(node, 0)), 3)
