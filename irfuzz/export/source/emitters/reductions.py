"""Expressions for reduction nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, Emitter, EmitterContext


def reduce(function: str) -> Emitter:
    """A Reduce operator: axes as an attribute, later (ReduceSum at 13, the others at 18) as an input."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        dtype = ctx.dtype(node.inputs[0])
        if function == "reduce_log_sum_exp" and dtype is not None and not ctx.is_float(node.inputs[0]):
            raise ctx.unsupported(node, f"ONNX does not say how exponentials of {dtype.name} round")
        axes = ctx.attr(node, "axes") if "axes" in node.attributes else ctx.ints(node, 1)
        keepdims = ctx.attr(node, "keepdims")
        noop = ctx.attr(node, "noop_with_empty_axes")
        keepdims = None if keepdims == 1 else keepdims
        return ctx.call(function, ctx.input(node, 0), axes, keepdims=keepdims, noop=noop or None)

    return emit


def arg(function: str) -> Emitter:
    """ArgMax or ArgMin."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(
            function,
            ctx.input(node, 0),
            axis=ctx.attr(node, "axis"),
            keepdims=ctx.attr(node, "keepdims"),
            select_last_index=ctx.attr(node, "select_last_index") or None,
        )

    return emit


def cumulative(function: str) -> Emitter:
    """CumSum or CumProd; the axis is an input."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        known = ctx.constant(ctx.input_value(node, 1))
        axis = ctx.input(node, 1) if known is None else int(known.reshape(-1)[0])
        exclusive, reverse = ctx.attr(node, "exclusive") or None, ctx.attr(node, "reverse") or None
        return ctx.call(function, ctx.input(node, 0), axis, exclusive=exclusive, reverse=reverse)

    return emit
