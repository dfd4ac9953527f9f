"""Expressions for nodes that draw; ONNX defines the type, shape and range of the numbers, but not the numbers."""

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
    """An emitter of RandomNormal or RandomUniform, with a shape of their own.

    ``RandomNormal(shape=[2])`` becomes ``random_normal((2,), 0.0, 1.0, torch.float32)``, with ``seed`` by name if the
    node has one.

    Args:
        function: support function that draws.
        *names: attributes of the distribution, in the order in which the function takes them.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        numbers = [ctx.attr(node, name) for name in names]
        dtype = _dtype(ctx, node, ir.DataType.FLOAT)
        return ctx.call(function, ctx.attr(node, "shape"), *numbers, dtype, seed=ctx.attr(node, "seed"))

    return emit


def drawn_like(function: str, *names: str) -> Emitter:
    """An emitter of RandomNormalLike or RandomUniformLike, in the shape of an input.

    ``RandomNormalLike(x)`` becomes ``random_normal(x.shape, 0.0, 1.0, x.dtype)``; an attribute ``dtype`` takes the
    place of the input's type.

    Args:
        function: support function that draws.
        *names: attributes of the distribution, in the order in which the function takes them.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        numbers = [ctx.attr(node, name) for name in names]
        shape = Code(f"{ctx.input(node, 0)}.shape")
        return ctx.call(function, shape, *numbers, _dtype(ctx, node, None), seed=ctx.attr(node, "seed"))

    return emit


def bernoulli(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Bernoulli, from opset 15: ``Bernoulli(x)`` becomes ``bernoulli(x, x.dtype)``, 1 with the probability that each
    element states. An attribute ``dtype`` takes the place of the input's type; ``seed`` is passed if the node has one.
    """
    return ctx.call("bernoulli", ctx.input(node, 0), _dtype(ctx, node, None), seed=ctx.attr(node, "seed"))


def multinomial(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Multinomial, from opset 7: ``Multinomial(x, sample_size=3)`` becomes ``multinomial(x, 3, torch.int32)``, of
    logits (batch, classes). int32 is ONNX's default for ``dtype``; ``seed`` is passed if the node has one.
    """
    count, dtype = ctx.attr(node, "sample_size"), _dtype(ctx, node, ir.DataType.INT32)
    return ctx.call("multinomial", ctx.input(node, 0), count, dtype, seed=ctx.attr(node, "seed"))


def training_dropout(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Dropout in training, from opset 12 on, if an input says so.

    ``Dropout(x, ratio, training)`` becomes ``training_dropout(x, ratio, training)``, a tuple of the result and the
    mask. The function looks at ``training`` when the module runs, and gives ``x`` itself if it is false or the ratio is
    0; a ratio that is absent is 0.5.
    """
    x, ratio, training = ctx.input(node, 0), ctx.input(node, 1), ctx.input(node, 2)
    return TupleExpression(ctx.call("training_dropout", x, ratio, training, seed=ctx.attr(node, "seed")), 2)
