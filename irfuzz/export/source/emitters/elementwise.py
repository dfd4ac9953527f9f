"""Expressions for nodes that compute element by element."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, Emitter, EmitterContext, TupleExpression
from irfuzz.export.source.emitters.random_numbers import training_dropout


def unary(function: str) -> Emitter:
    """``function(x)``: a function of the framework's own, or a support function."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(function, ctx.input(node, 0))

    return emit


def with_attrs(function: str, **names: str) -> Emitter:
    """``function(inputs..., parameter=attribute...)``; ``names`` maps parameters to ONNX attributes."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(function, *ctx.inputs(node), **{p: ctx.attr(node, a) for p, a in names.items()})

    return emit


def infix(symbol: str, function: str) -> Emitter:
    """``a symbol b`` if the framework has it for the element type, else the support function."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        a, b = ctx.input(node, 0), second(ctx, node)
        return f"{a} {symbol} {b}" if ctx.is_plain(node.inputs[0]) else ctx.call(function, a, b)

    return emit


def second(ctx: EmitterContext, node: ir.Node) -> Code | None:
    """The second operand; before opset 7 an attribute says at which axis of the first one its own begin."""
    b = ctx.input(node, 1)
    if ctx.opset < 7 and ctx.attr(node, "broadcast") and "axis" in node.attributes:
        return Code(ctx.call("begin_at", b, ctx.input(node, 0), ctx.attr(node, "axis")))
    return b


def binary(function: str) -> Emitter:
    """``function(a, b)``."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(function, ctx.input(node, 0), second(ctx, node))

    return emit


def variadic(function: str) -> Emitter:
    """``function(x, y, ...)``."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(function, *ctx.given(node))

    return emit


def div(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Div: a plain division if both are surely floating."""
    a, b = ctx.input(node, 0), second(ctx, node)
    return f"{a} / {b}" if ctx.is_float(node.inputs[0]) else ctx.call("div", a, b)


def mod(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Mod, floored or truncated."""
    return ctx.call("mod", ctx.input(node, 0), ctx.input(node, 1), fmod=ctx.attr(node, "fmod") or None)


def clip(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Clip with bounds as attributes (before opset 11) or as inputs."""
    if ctx.opset < 11:
        return ctx.call("clip_to", ctx.input(node, 0), ctx.attr(node, "min"), ctx.attr(node, "max"))
    return ctx.call("clip", *ctx.inputs(node))


def prelu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """PRelu; before opset 7 a vector of slopes belonged to the channels."""
    return ctx.call("prelu_channels" if ctx.opset < 7 else "prelu", ctx.input(node, 0), ctx.input(node, 1))


def relu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Relu."""
    return ctx.call(ctx.form("relu") if ctx.is_plain(node.inputs[0]) else "relu", ctx.input(node, 0))


def along_axis(function: str) -> Emitter:
    """Softmax and its kin: one axis from opset 13, before it everything from an axis on."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        x, axis = ctx.input(node, 0), ctx.attr(node, "axis")
        if ctx.opset >= 13:
            return ctx.call(function, x, axis)
        ctx.used.add(function)
        return ctx.call("as_rows", Code(function), x, axis)

    return emit


def is_inf(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """IsInf, of the signs asked for."""
    negative, positive = ctx.attr(node, "detect_negative"), ctx.attr(node, "detect_positive")
    if negative and positive:
        return ctx.call(ctx.form("isinf"), ctx.input(node, 0))
    return ctx.call("is_inf", ctx.input(node, 0), negative=negative, positive=positive)


def bit_shift(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BitShift."""
    return ctx.call("shift", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "direction"))


def erf(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Erf of floating types; of integers ONNX leaves the rounding open."""
    dtype = ctx.dtype(node.inputs[0])
    if dtype is not None and not ctx.is_float(node.inputs[0]):
        raise ctx.unsupported(node, f"ONNX does not say how Erf of {dtype.name} rounds")
    return ctx.call(ctx.form("erf"), ctx.input(node, 0))


def dropout(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Dropout: in inference, or if nothing is dropped, the input itself and a mask of ones."""
    training = ctx.input_value(node, 2)
    if ctx.opset < 7 and not ctx.attr(node, "is_test"):
        raise ctx.unsupported(node, "the result is random without is_test")
    if training is not None:
        known, ratio = ctx.constant(training), ctx.constant(ctx.input_value(node, 1))
        if known is None or (bool(known) and (ratio is None or float(ratio) != 0)):
            return training_dropout(ctx, node)
    x = ctx.input(node, 0)
    return TupleExpression(f"{x}, {ctx.form('all_true', x=x)}", 2) if len(node.outputs) > 1 else str(x)
