"""Expressions for nodes that draw; ONNX leaves the numbers open, but neither their type, shape nor range."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, Emitter, EmitterContext, TupleExpression


def _dtype(ctx: EmitterContext, node: ir.Node, default: ir.DataType | None) -> Code:
    """The type that attribute ``dtype`` names, else a default, else that of the input."""
    wanted = ctx.attr(node, "dtype")
    if wanted is not None:
        return ctx.spelled(node, wanted)
    return Code(f"{ctx.input(node, 0)}.dtype") if default is None else Code(ctx.spell(default))


def drawn(function: str, *names: str) -> Emitter:
    """RandomNormal and RandomUniform, with a shape of their own; ``names`` are the attributes of the distribution."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        numbers = [ctx.attr(node, name) for name in names]
        dtype = _dtype(ctx, node, ir.DataType.FLOAT)
        return ctx.call(function, ctx.attr(node, "shape"), *numbers, dtype, seed=ctx.attr(node, "seed"))

    return emit


def drawn_like(function: str, *names: str) -> Emitter:
    """The same in the shape of an input."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        numbers = [ctx.attr(node, name) for name in names]
        shape = Code(f"{ctx.input(node, 0)}.shape")
        return ctx.call(function, shape, *numbers, _dtype(ctx, node, None), seed=ctx.attr(node, "seed"))

    return emit


def bernoulli(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Bernoulli."""
    return ctx.call("bernoulli", ctx.input(node, 0), _dtype(ctx, node, None), seed=ctx.attr(node, "seed"))


def multinomial(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Multinomial."""
    count, dtype = ctx.attr(node, "sample_size"), _dtype(ctx, node, ir.DataType.INT32)
    return ctx.call("multinomial", ctx.input(node, 0), count, dtype, seed=ctx.attr(node, "seed"))


def training_dropout(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Dropout in training, from opset 12 on, if an input says so."""
    x, ratio, training = ctx.input(node, 0), ctx.input(node, 1), ctx.input(node, 2)
    return TupleExpression(ctx.call("training_dropout", x, ratio, training, seed=ctx.attr(node, "seed")), 2)
