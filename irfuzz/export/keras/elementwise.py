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
    """An emitter of an operation of ``keras.ops`` on floating numbers, or on what ``check`` lets pass.

    With ``unary("exp")``, ``Exp(x)`` becomes ``keras.ops.exp(x)``. No attribute is read.

    Args:
        operation: name in ``keras.ops``.
        check: raises ``Unsupported`` for nodes whose element types Keras does not compute in exactly.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        check(ctx, node)
        return ctx.call(f"keras.ops.{operation}", ctx.input(node, 0))

    return emit


def compared(operation: str) -> Emitter:
    """An emitter of an operation on one to three values of any type that the model can hold.

    With ``compared("less")``, ``Less(a, b)`` becomes ``keras.ops.less(a, b)``. All inputs of the node are passed in
    order, and no attribute is read.

    Args:
        operation: name in ``keras.ops``; no type is checked, so it must be exact on every one.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(f"keras.ops.{operation}", *ctx.inputs(node))

    return emit


def binary(operation: str) -> Emitter:
    """An emitter of an operation on two floating numbers of one type; others raise ``Unsupported``, since Keras would
    promote them.

    With ``binary("divide")``, ``Div(a, b)`` becomes ``keras.ops.divide(a, b)``.

    Args:
        operation: name in ``keras.ops``.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        floats_only(ctx, node)
        one_type(ctx, node)
        return ctx.call(f"keras.ops.{operation}", *ctx.inputs(node))

    return emit


def merging(name: str, operation: str) -> Emitter:
    """An emitter of a merging layer; without ``operation`` only if all shapes are the same.

    With ``merging("Maximum", "maximum")``, ``Max(a, b)`` becomes ``merged("Maximum", "maximum", [a, b])``, which is a
    layer for equal shapes and operations for others. Booleans raise ``Unsupported``.

    Args:
        name: of the layer in ``keras.layers``.
        operation: name in ``keras.ops``; empty for Mean, which has none and then takes neither integers nor constants.
    """

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
    """Add; the bias of a Dense layer if it is that.

    ``Add(MatMul(x, w), b)`` becomes ``dense(x, w, b)`` if ``biased`` says so of the product, which then has no line of
    its own. Any other Add becomes ``merged("Add", "add", [a, b])``.
    """
    for value in node.inputs:
        producer = None if value is None else value.producer()
        if producer is not None and biased(ctx, producer) is node:
            (bias,) = (v for v in node.inputs if v is not value)
            assert bias is not None
            return dense(ctx, producer, ctx.name(bias))
    return merging("Add", "add")(ctx, node)


def activation(name: str) -> Emitter:
    """An emitter of an Activation layer on floating numbers; others raise ``Unsupported``.

    With ``activation("tanh")``, ``Tanh(x)`` becomes ``keras.layers.Activation("tanh", dtype="float32")(x)``.

    Args:
        name: of the function in ``keras.activations``.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        floats_only(ctx, node)
        return layer(ctx, node, "Activation", name)

    return emit


def leaky_relu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LeakyRelu: ``LeakyRelu(x, alpha=0.5)`` becomes ``keras.layers.LeakyReLU(0.5, dtype="float32")(x)``. A slope below
    0 raises ``Unsupported``, as Keras takes none; so do types that are not floating.
    """
    floats_only(ctx, node)
    slope = float(ctx.attr(node, "alpha"))
    if slope < 0:
        raise ctx.unsupported(node, "Keras takes no negative slope")
    return layer(ctx, node, "LeakyReLU", slope)


def elu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Elu: ``Elu(x, alpha=0.5)`` becomes ``keras.layers.ELU(0.5, dtype="float32")(x)``. Types that are not floating
    raise ``Unsupported``.
    """
    floats_only(ctx, node)
    return layer(ctx, node, "ELU", float(ctx.attr(node, "alpha")))


def selu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Selu with the constants of its paper, which ONNX has as defaults, in float32.

    ``Selu(x)`` becomes ``keras.layers.Activation("selu", dtype="float32")(x)``. Other constants raise ``Unsupported``,
    and so does float64, since ONNX's constants are float32.
    """
    single(ctx, node)
    given = (ctx.attr(node, "alpha"), ctx.attr(node, "gamma"))
    if not np.allclose(given, (1.6732632423543772, 1.0507009873554805), rtol=1e-7):
        raise ctx.unsupported(node, f"Keras has fixed constants, not {given}")
    return activation("selu")(ctx, node)


def gelu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Gelu, from opset 20, by the error function or by the hyperbolic tangent.

    ``Gelu(x)`` becomes ``keras.activations.gelu(x, approximate=False)``; the tangent (``approximate="tanh"``) is for
    float32 only. Other types raise ``Unsupported``.
    """
    floats_only(ctx, node)
    form = ctx.attr(node, "approximate", "none")
    if form == "tanh":
        single(ctx, node)
    return f"keras.activations.gelu({ctx.input(node, 0)}, approximate={form == 'tanh'})"


def hard_sigmoid(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """HardSigmoid with the slope that Keras has, 1/6, and the offset 0.5, in float32; others raise ``Unsupported``,
    ONNX's own default of 0.2 among them.

    ``HardSigmoid(x, alpha=1/6)`` becomes ``keras.layers.Activation("hard_sigmoid", dtype="float32")(x)``.
    """
    single(ctx, node)
    alpha, beta = ctx.attr(node, "alpha"), ctx.attr(node, "beta")
    if np.float32(alpha) != np.float32(1 / 6) or beta != 0.5:
        raise ctx.unsupported(node, f"Keras has the slope 1/6 and the offset 0.5, not {alpha} and {beta}")
    return activation("hard_sigmoid")(ctx, node)


def hard_swish(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """HardSwish, from opset 14: ``HardSwish(x)`` becomes ``keras.layers.Activation("hard_silu", dtype="float32")(x)``.
    Another type than float32 raises ``Unsupported``, since the constants differ.
    """
    single(ctx, node)
    return activation("hard_silu")(ctx, node)


def softmax(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Softmax and LogSoftmax along one axis.

    ``Softmax(x, axis=1)`` becomes ``keras.layers.Softmax(1, dtype="float32")(x)``, or ``keras.ops.softmax(x, axis=0)``
    of a vector; LogSoftmax is always an operation. ``Unsupported`` is raised for scalars, unknown shapes, and before
    opset 13 for other axes than the last.
    """
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
    """Clip; a bounded ReLU if it starts at zero.

    ``Clip(x, 0, 6)`` becomes ``keras.layers.ReLU(max_value=6.0, dtype="float32")(x)`` if both bounds are constant and
    ``x`` is floating. Else it becomes ``keras.ops.minimum(keras.ops.maximum(x, low), high)``, without the part of a
    bound that is absent. Before opset 11 bounds are attributes.
    """
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
    """Cast between the types that the model can hold: float32, float64, int32, int64 and booleans; others raise
    ``Unsupported``.

    ``Cast(x, to=1)`` becomes ``keras.ops.cast(x, "float32")``.
    """
    to = ir.DataType(ctx.attr(node, "to"))
    if to not in SPELLED or ctx.dtype(node.inputs[0]) not in SPELLED:
        raise ctx.unsupported(node, f"no exact Keras arithmetic for element type {to.name}")
    return ctx.call("keras.ops.cast", ctx.input(node, 0), Code(SPELLED[to]))
