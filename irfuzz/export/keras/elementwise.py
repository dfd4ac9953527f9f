"""Lowers nodes that compute element by element to layers and operations of Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.export.keras.layer_emitters import SPELLED, biased, dense, layer
from irfuzz.export.keras.node_checks import floats_only, numbers_only, one_type, single
from irfuzz.export.source.emitter_context import Code, Emitted, Emitter, EmitterContext


def unary(operation: str, check: Callable[[EmitterContext, ir.Node], None] = floats_only) -> Emitter:
    """An operation of ``keras.ops`` on floating numbers, or on what ``check`` lets pass."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        check(ctx, node)
        return ctx.call(f"keras.ops.{operation}", ctx.input(node, 0))

    return emit


def compared(operation: str) -> Emitter:
    """An operation on two or three values of any type that the model can hold."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(f"keras.ops.{operation}", *ctx.inputs(node))

    return emit


def binary(operation: str) -> Emitter:
    """An operation on two floating numbers."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        floats_only(ctx, node)
        one_type(ctx, node)
        return ctx.call(f"keras.ops.{operation}", *ctx.inputs(node))

    return emit


def merging(name: str, operation: str) -> Emitter:
    """A merging layer; without ``operation`` only if all shapes are the same."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        numbers_only(ctx, node)
        given = [v for v in node.inputs if v is not None]
        if not operation:
            floats_only(ctx, node)
            if len({ctx.shape(v) for v in given}) != 1 or ctx.shape(given[0]) is None:
                raise ctx.unsupported(node, "Keras averages values of one shape only")
        if not operation and any(ctx.constant(v) is not None for v in given):
            raise ctx.unsupported(node, "Keras averages no constants")
        return ctx.call("merged", name, operation or "add", ctx.given(node))

    return emit


def add(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Add; the bias of a Dense layer if it is that."""
    for value in node.inputs:
        producer = None if value is None else value.producer()
        if producer is not None and biased(ctx, producer) is node:
            (bias,) = (v for v in node.inputs if v is not value)
            assert bias is not None
            return dense(ctx, producer, ctx.name(bias))
    return merging("Add", "add")(ctx, node)


def activation(name: str) -> Emitter:
    """An Activation layer."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        floats_only(ctx, node)
        return layer(ctx, node, "Activation", name)

    return emit


def leaky_relu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LeakyRelu."""
    floats_only(ctx, node)
    slope = float(ctx.attr(node, "alpha"))
    if slope < 0:
        raise ctx.unsupported(node, "Keras takes no negative slope")
    return layer(ctx, node, "LeakyReLU", slope)


def elu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Elu."""
    floats_only(ctx, node)
    return layer(ctx, node, "ELU", float(ctx.attr(node, "alpha")))


def selu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Selu with the constants of its paper."""
    single(ctx, node)
    given = (ctx.attr(node, "alpha"), ctx.attr(node, "gamma"))
    if not np.allclose(given, (1.6732632423543772, 1.0507009873554805), rtol=1e-7):
        raise ctx.unsupported(node, f"Keras has fixed constants, not {given}")
    return activation("selu")(ctx, node)


def gelu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Gelu, by the error function or by the hyperbolic tangent."""
    floats_only(ctx, node)
    form = ctx.attr(node, "approximate", "none")
    if form == "tanh":
        single(ctx, node)
    return f"keras.activations.gelu({ctx.input(node, 0)}, approximate={form == 'tanh'})"


def hard_sigmoid(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """HardSigmoid with the slope that Keras has."""
    single(ctx, node)
    alpha, beta = ctx.attr(node, "alpha"), ctx.attr(node, "beta")
    if np.float32(alpha) != np.float32(1 / 6) or beta != 0.5:
        raise ctx.unsupported(node, f"Keras has the slope 1/6 and the offset 0.5, not {alpha} and {beta}")
    return activation("hard_sigmoid")(ctx, node)


def hard_swish(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """HardSwish."""
    single(ctx, node)
    return activation("hard_silu")(ctx, node)


def softmax(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Softmax and LogSoftmax along one axis."""
    floats_only(ctx, node)
    assert node.inputs[0] is not None
    shape, axis = ctx.shape(node.inputs[0]), ctx.attr(node, "axis")
    if shape is None or not shape:
        raise ctx.unsupported(node, "a scalar, or a shape that is not known")
    if ctx.opset < 13 and axis not in (-1, len(shape) - 1):
        raise ctx.unsupported(node, "before opset 13 it flattens the axes behind its own")
    if node.op_type == "LogSoftmax":
        return f"keras.ops.log_softmax({ctx.input(node, 0)}, axis={axis})"
    if len(shape) == 1:
        return f"keras.ops.softmax({ctx.input(node, 0)}, axis={axis})"
    return layer(ctx, node, "Softmax", axis)


def clip(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Clip; a bounded ReLU if it starts at zero."""
    numbers_only(ctx, node)
    if ctx.opset < 11:
        bounds: list[Any] = [ctx.attr(node, "min"), ctx.attr(node, "max")]
        known = bounds
    else:
        bounds = [ctx.input(node, 1), ctx.input(node, 2)]
        arrays = [ctx.constant(ctx.input_value(node, i)) for i in (1, 2)]
        known = [None if a is None else a.reshape(-1)[0].item() for a in arrays]
    least, most = known
    if ctx.is_float(node.inputs[0]) and least == 0 and most is not None and 0 < most < np.inf:
        return layer(ctx, node, "ReLU", max_value=float(most))
    result = str(ctx.input(node, 0))
    if bounds[0] is not None:
        result = ctx.call("keras.ops.maximum", Code(result), bounds[0])
    if bounds[1] is not None:
        result = ctx.call("keras.ops.minimum", Code(result), bounds[1])
    return result


def cast(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Cast between the types that the model can hold."""
    to = ir.DataType(ctx.attr(node, "to"))
    if to not in SPELLED or ctx.dtype(node.inputs[0]) not in SPELLED:
        raise ctx.unsupported(node, f"no exact Keras arithmetic for element type {to.name}")
    return ctx.call("keras.ops.cast", ctx.input(node, 0), Code(SPELLED[to]))
