"""Lowers recurrent nodes to calls that make Keras' recurrent layers."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.keras.node_checks import held
from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression

_ACTIVATIONS = {"Sigmoid": "sigmoid", "Tanh": "tanh", "Relu": "relu"}
_DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}


def _activations(ctx: EmitterContext, node: ir.Node) -> list[str]:
    """Keras' names of the activations, which have to be the same in both directions."""
    held(ctx, node, 1, 2, 3)
    x = ctx.input_value(node, 0)
    if not ctx.is_float(x) or x is None or ctx.shape(x) is None or 0 in (ctx.shape(x) or ()):
        raise ctx.unsupported(node, "no floating numbers, a size of zero, or one that is not known")
    if ctx.opset < 7 or ctx.input_value(node, 4) is not None or ctx.attr(node, "layout"):
        raise ctx.unsupported(node, "lengths of sequences, a batch before the time, or an opset before 7")
    if any(name in node.attributes for name in ("clip", "activation_alpha", "activation_beta")):
        raise ctx.unsupported(node, "clip, activation_alpha or activation_beta")
    usual = _DEFAULTS[node.op_type]
    given = ctx.attr(node, "activations") or usual
    given = [name.decode() if isinstance(name, bytes) else name for name in given]
    one, other = given[: len(usual)], given[len(usual) :]
    if (other and other != one) or any(name not in _ACTIVATIONS for name in one):
        raise ctx.unsupported(node, f"activations {', '.join(given)}")
    return [_ACTIVATIONS[name] for name in one]


def _parts(ctx: EmitterContext, node: ir.Node) -> list[object]:
    return [ctx.input(node, place) for place in (0, 1, 2, 3, 5)]


def rnn(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """RNN, from opset 7: it becomes ``simple_rnn(x, w, r, b, h, direction="forward", activation="tanh")``, a tuple of
    (Y, Y_h).

    Weights have to be constant. ``sequence_lens``, ``layout``, ``clip``, alphas and betas raise ``Unsupported``, and so
    do activations other than Relu, Sigmoid and Tanh, or different ones for the two directions.
    """
    (activation,) = _activations(ctx, node)
    direction = ctx.attr(node, "direction", "forward")
    return TupleExpression(ctx.call("simple_rnn", *_parts(ctx, node), direction=direction, activation=activation), 2)


def gru(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GRU, from opset 7, resetting before or behind the product (``linear_before_reset``).

    It becomes ``gru(x, w, r, b, h, direction="forward", activation="tanh", gate="sigmoid", reset_after=False)``, a
    tuple of (Y, Y_h). What ``rnn`` refuses is refused here, too.
    """
    gate, activation = _activations(ctx, node)
    call = ctx.call(
        "gru",
        *_parts(ctx, node),
        direction=ctx.attr(node, "direction", "forward"),
        activation=activation,
        gate=gate,
        reset_after=bool(ctx.attr(node, "linear_before_reset")),
    )
    return TupleExpression(call, 2)


def lstm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LSTM, from opset 7, without peepholes, with one activation for the cell and its output.

    It becomes ``lstm(x, w, r, b, h, c, direction="forward", activation="tanh", gate="sigmoid")``, a tuple of (Y, Y_h,
    Y_c). Peepholes and ``input_forget`` raise ``Unsupported``, and so does what ``rnn`` refuses.
    """
    gate, activation, leaving = _activations(ctx, node)
    if activation != leaving or ctx.input_value(node, 7) is not None or ctx.attr(node, "input_forget"):
        raise ctx.unsupported(node, "peepholes, coupled gates, or two activations of the cell")
    call = ctx.call(
        "lstm",
        *_parts(ctx, node),
        ctx.input(node, 6),
        direction=ctx.attr(node, "direction", "forward"),
        activation=activation,
        gate=gate,
    )
    return TupleExpression(call, 3)
