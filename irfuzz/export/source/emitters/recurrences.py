"""Expressions for recurrent nodes."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression

# Default (alpha, beta) of each activation: those of the ONNX operator of that name, which are float32 attributes.
ACTIVATIONS: dict[str, tuple[float, ...]] = {
    "relu": (),
    "tanh": (),
    "sigmoid": (),
    "affine": (1.0, 0.0),
    "leakyrelu": (0.009999999776482582,),
    "thresholdedrelu": (1.0,),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.20000000298023224, 0.5),
    "elu": (1.0,),
    "softsign": (),
    "softplus": (),
}
WITHOUT_DEFAULT = frozenset({"affine", "scaledtanh"})
"""Not ONNX operators any more, so their defaults are nowhere written down."""


def _activations(ctx: EmitterContext, node: ir.Node, defaults: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    """(name, alpha, beta) for each activation of each direction; given alphas and betas are consumed in order."""
    directions = 2 if ctx.attr(node, "direction") == "bidirectional" else 1
    names = node.attributes["activations"].value if "activations" in node.attributes else defaults * directions
    alphas, betas = list(ctx.attr(node, "activation_alpha", ())), list(ctx.attr(node, "activation_beta", ()))
    result = []
    for name in names:
        lowered = name.lower()
        if lowered not in ACTIVATIONS:
            raise ctx.unsupported(node, f"activation {name!r}")
        constants = ACTIVATIONS[lowered]
        if lowered in WITHOUT_DEFAULT and not (alphas and betas):
            raise ctx.unsupported(node, f"activation {name!r} without alpha and beta")
        alpha = alphas.pop(0) if constants and alphas else (constants[0] if constants else 0.0)
        beta = betas.pop(0) if len(constants) > 1 and betas else (constants[1] if len(constants) > 1 else 0.0)
        result.append((lowered, alpha, beta))
    return tuple(result)


def _call(ctx: EmitterContext, node: ir.Node, function: str, defaults: tuple[str, ...], most: int, **extra: Any) -> str:
    direction, layout = ctx.attr(node, "direction"), ctx.attr(node, "layout")
    return ctx.call(
        function,
        *[ctx.input(node, i) for i in range(most)],
        direction=None if direction == "forward" else direction,
        activations=_activations(ctx, node, defaults),
        clip=ctx.attr(node, "clip"),
        layout=layout or None,
        **{name: value or None for name, value in extra.items()},
    )


def rnn(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """RNN: it becomes ``rnn(x, w, r, b, lens, h, activations=(("tanh", 0.0, 0.0),))``, a tuple of (Y, Y_h).

    Each activation is (name, alpha, beta), one for each direction. ``direction``, ``clip`` and ``layout`` follow if
    they are not at their defaults. Activations that ONNX does not define raise ``Unsupported``.
    """
    return TupleExpression(_call(ctx, node, "rnn", ("Tanh",), 6), 2)


def gru(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GRU: it becomes ``gru(x, w, r, b, lens, h, activations=...)``, a tuple of (Y, Y_h).

    Activations are (name, alpha, beta), two for each direction, by default Sigmoid and Tanh. ``linear_before_reset``
    follows if it is set. Activations that ONNX does not define raise ``Unsupported``.
    """
    linear = ctx.attr(node, "linear_before_reset")
    return TupleExpression(_call(ctx, node, "gru", ("Sigmoid", "Tanh"), 6, linear_before_reset=linear), 2)


def lstm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LSTM: it becomes ``lstm(x, w, r, b, lens, h, c, p, activations=...)``, a tuple of (Y, Y_h, Y_c).

    Activations are (name, alpha, beta), three for each direction, by default Sigmoid, Tanh and Tanh. ``input_forget``
    follows if it is set. Activations that ONNX does not define raise ``Unsupported``.
    """
    couple = ctx.attr(node, "input_forget")
    return TupleExpression(_call(ctx, node, "lstm", ("Sigmoid", "Tanh", "Tanh"), 8, input_forget=couple), 3)
