"""Expressions for reduction nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, Emitter, EmitterContext


def reduce(function: str) -> Emitter:
    """An emitter of a Reduce operator: axes as an attribute, later (ReduceSum at 13, the others at 18) as an input.

    With ``reduce("reduce_sum")``, ``ReduceSum(x, axes=[1], keepdims=0)`` becomes ``reduce_sum(x, (1,), keepdims=0)``.
    Axes that are absent are left out: all are reduced, or none with ``noop_with_empty_axes`` (``noop=1``).
    ReduceLogSumExp of integers raises ``Unsupported``: ONNX does not say how it rounds.

    Args:
        function: support function that computes it.
    """

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
    """An emitter of ArgMax or ArgMin.

    With ``arg("arg_max")``, ``ArgMax(x, axis=1)`` becomes ``arg_max(x, axis=1, keepdims=1)``. ``select_last_index``,
    which came with opset 12, follows if it is set: then the last of equal elements counts.

    Args:
        function: support function that computes it.
    """

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
    """An emitter of CumSum (from opset 11) or CumProd (from opset 26); the axis is an input.

    With ``cumulative("cum_sum")``, ``CumSum(x, axis)`` becomes ``cum_sum(x, 1)`` if the axis is constant, else
    ``cum_sum(x, axis)``. ``exclusive`` and ``reverse`` follow if they are set.

    Args:
        function: support function that computes it.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        known = ctx.constant(ctx.input_value(node, 1))
        axis = ctx.input(node, 1) if known is None else int(known.reshape(-1)[0])
        exclusive, reverse = ctx.attr(node, "exclusive") or None, ctx.attr(node, "reverse") or None
        return ctx.call(function, ctx.input(node, 0), axis, exclusive=exclusive, reverse=reverse)

    return emit
