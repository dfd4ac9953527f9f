"""Expressions for nodes that compute element by element."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, Emitter, EmitterContext, TupleExpression
from irfuzz.export.source.emitters.random_numbers import training_dropout


def unary(function: str) -> Emitter:
    """An emitter of ``function(x)``: with ``unary("torch.exp")``, ``Exp(x)`` becomes ``torch.exp(x)``.

    Only the first input is read, and no attribute.

    Args:
        function: one of the framework's own, with a dot in it, or a support function.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(function, ctx.input(node, 0))

    return emit


def with_attrs(function: str, **names: str) -> Emitter:
    """An emitter of ``function(inputs..., parameter=attribute...)``.

    With ``with_attrs("elu", alpha="alpha")``, ``Elu(x)`` becomes ``elu(x, alpha=1.0)``: ONNX's default is written out.
    An attribute that has no value at the opset of the program is left out.

    Args:
        function: a support function.
        **names: ONNX attribute of each of its parameters.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(function, *ctx.inputs(node), **{p: ctx.attr(node, a) for p, a in names.items()})

    return emit


def infix(symbol: str, function: str) -> Emitter:
    """An emitter of ``a symbol b`` if the framework has it for the element type, else of the support function.

    With ``infix("+", "add")``, ``Add(a, b)`` becomes ``a + b``, but ``add(a, b)`` if the type of ``a`` is not known, or
    one such as uint16 in PyTorch, for which it has no arithmetic.

    Args:
        symbol: a binary operator of Python's.
        function: support function that computes the same for every type.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        a, b = ctx.input(node, 0), second(ctx, node)
        return f"{a} {symbol} {b}" if ctx.is_plain(node.inputs[0]) else ctx.call(function, a, b)

    return emit


def second(ctx: EmitterContext, node: ir.Node) -> Code | None:
    """The second operand; before opset 7 an attribute says at which axis of the first one its own begin.

    That is then ``begin_at(b, a, axis)``, which adds axes of size 1 behind the operand's own; from opset 7 on it is
    always the identifier of the input. ``None`` if the input is absent.
    """
    b = ctx.input(node, 1)
    if ctx.opset < 7 and ctx.attr(node, "broadcast") and "axis" in node.attributes:
        return Code(ctx.call("begin_at", b, ctx.input(node, 0), ctx.attr(node, "axis")))
    return b


def binary(function: str) -> Emitter:
    """An emitter of ``function(a, b)``: with ``binary("torch.eq")``, ``Equal(a, b)`` becomes ``torch.eq(a, b)``.

    The second operand is that of ``second``, which heeds the broadcasting of opset 6.

    Args:
        function: one of the framework's own, with a dot in it, or a support function.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(function, ctx.input(node, 0), second(ctx, node))

    return emit


def variadic(function: str) -> Emitter:
    """An emitter of ``function(x, y, ...)``: with ``variadic("max_")``, ``Max(a, b, c)`` becomes ``max_(a, b, c)``.

    Inputs that are absent are left out, and no attribute is read.

    Args:
        function: one of the framework's own, with a dot in it, or a support function.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        return ctx.call(function, *ctx.given(node))

    return emit


def div(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Div: ``Div(a, b)`` becomes ``a / b`` if ``a`` is surely floating, else ``div(a, b)``, which is for integers, too,
    and truncates them as ONNX does.
    """
    a, b = ctx.input(node, 0), second(ctx, node)
    return f"{a} / {b}" if ctx.is_float(node.inputs[0]) else ctx.call("div", a, b)


def mod(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Mod, from opset 10, floored or truncated: ``Mod(a, b)`` becomes ``mod(a, b)``, which takes the sign of ``b``, and
    with ``fmod=1`` ``mod(a, b, fmod=1)``, which takes that of ``a``.
    """
    return ctx.call("mod", ctx.input(node, 0), ctx.input(node, 1), fmod=ctx.attr(node, "fmod") or None)


def clip(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Clip with bounds as attributes (before opset 11) or as inputs.

    ``Clip(x, min=0.0, max=6.0)`` becomes ``clip_to(x, 0.0, 6.0)``, ONNX's defaults being the ends of float32; ``Clip(x,
    low, high)`` becomes ``clip(x, low, high)``, of which either bound may be ``None``.
    """
    if ctx.opset < 11:
        return ctx.call("clip_to", ctx.input(node, 0), ctx.attr(node, "min"), ctx.attr(node, "max"))
    return ctx.call("clip", *ctx.inputs(node))


def prelu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """PRelu: ``PRelu(x, slope)`` becomes ``prelu(x, slope)``, the slope broadcasts to the input.

    Before opset 7 it is ``prelu_channels(x, slope)``: a vector of slopes then belonged to the channels, which are axis
    1.
    """
    return ctx.call("prelu_channels" if ctx.opset < 7 else "prelu", ctx.input(node, 0), ctx.input(node, 1))


def relu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Relu: ``Relu(x)`` becomes ``torch.relu(x)`` in PyTorch if it has that for the element type. For other types, and
    in TensorFlow, it is the support function ``relu(x)``.
    """
    return ctx.call(ctx.form("relu") if ctx.is_plain(node.inputs[0]) else "relu", ctx.input(node, 0))


def along_axis(function: str) -> Emitter:
    """An emitter of Softmax, LogSoftmax or Hardmax: one axis from opset 13, before it everything from an axis on.

    With ``along_axis("softmax")``, ``Softmax(x, axis=1)`` becomes ``softmax(x, 1)``, and before opset 13
    ``as_rows(softmax, x, 1)``. The axis is always written, with ONNX's default for the opset (-1, earlier 1).

    Args:
        function: support function of a tensor and an axis.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        x, axis = ctx.input(node, 0), ctx.attr(node, "axis")
        if ctx.opset >= 13:
            return ctx.call(function, x, axis)
        ctx.used.add(function)
        return ctx.call("as_rows", Code(function), x, axis)

    return emit


def is_inf(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """IsInf, from opset 10, of the signs asked for: ``IsInf(x)`` becomes ``torch.isinf(x)``, or TensorFlow's
    ``tf.math.is_inf(x)``.

    If an attribute leaves out one sign, it is ``is_inf(x, negative=0, positive=1)``.
    """
    negative, positive = ctx.attr(node, "detect_negative"), ctx.attr(node, "detect_positive")
    if negative and positive:
        return ctx.call(ctx.form("isinf"), ctx.input(node, 0))
    return ctx.call("is_inf", ctx.input(node, 0), negative=negative, positive=positive)


def bit_shift(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BitShift, from opset 11: ``BitShift(a, b, direction="LEFT")`` becomes ``shift(a, b, "LEFT")``. Both operands are
    integers of one type, and shifts by their width or more are defined, too: only the fill of the sign is left.
    """
    return ctx.call("shift", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "direction"))


def erf(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Erf, from opset 9: ``Erf(x)`` becomes ``torch.erf(x)``, or the support function ``erf(x)`` in TensorFlow.

    Element types that are known not to be floating raise ``Unsupported``: of integers ONNX leaves the rounding open.
    """
    dtype = ctx.dtype(node.inputs[0])
    if dtype is not None and not ctx.is_float(node.inputs[0]):
        raise ctx.unsupported(node, f"ONNX does not say how Erf of {dtype.name} rounds")
    return ctx.call(ctx.form("erf"), ctx.input(node, 0))


def dropout(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Dropout: in inference, or if nothing is dropped, the input itself and a mask of ones.

    ``y, mask = Dropout(x)`` becomes ``y, mask = x, torch.ones_like(x, dtype=torch.bool)``. If the third input (opset
    12) may ask for training, it is ``training_dropout``, which draws. Before opset 7 a node without ``is_test`` raises
    ``Unsupported``: its result is random.
    """
    training = ctx.input_value(node, 2)
    if ctx.opset < 7 and not ctx.attr(node, "is_test"):
        raise ctx.unsupported(node, "the result is random without is_test")
    if training is not None:
        known, ratio = ctx.constant(training), ctx.constant(ctx.input_value(node, 1))
        if known is None or (bool(known) and (ratio is None or float(ratio) != 0)):
            return training_dropout(ctx, node)
    x = ctx.input(node, 0)
    return TupleExpression(f"{x}, {ctx.form('all_true', x=x)}", 2) if len(node.outputs) > 1 else str(x)
