"""Expressions for nodes of language models."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression

_FLOAT = 1


def attention(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Attention, from opset 23, with softmax in float32 or wider; all four results are given.

    ``Attention(q, k, v, is_causal=1)`` becomes ``attention(q, k, v, causal=1, left=-1, right=-1)``, a tuple of (Y,
    present key, present value, scores). Another ``softmax_precision`` than float32 raises ``Unsupported``.
    """
    precision = ctx.attr(node, "softmax_precision")
    if precision not in (None, _FLOAT):
        raise ctx.unsupported(node, f"softmax_precision {ir.DataType(precision).name}")
    attrs = {
        "heads": ctx.attr(node, "q_num_heads"),
        "kv_heads": ctx.attr(node, "kv_num_heads"),
        "scale": ctx.attr(node, "scale"),
        "causal": ctx.attr(node, "is_causal") or None,
        "softcap": ctx.attr(node, "softcap") or None,
        "left": ctx.attr(node, "left_window_size", -1),
        "right": ctx.attr(node, "right_window_size", -1),
        "shown": ctx.attr(node, "qk_matmul_output_mode") or None,
    }
    return TupleExpression(ctx.call("attention", *[ctx.input(node, i) for i in range(7)], **attrs), 4)


def rotary_embedding(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """RotaryEmbedding, from opset 23: ``RotaryEmbedding(x, cos, sin, ids, num_heads=4)`` becomes ``rotary_embedding(x,
    cos, sin, ids, heads=4)``.

    ``rotary_embedding_dim`` is passed as ``width`` and ``interleaved`` by its name, each unless it is 0.
    """
    return ctx.call(
        "rotary_embedding",
        *[ctx.input(node, i) for i in range(4)],
        heads=ctx.attr(node, "num_heads"),
        width=ctx.attr(node, "rotary_embedding_dim") or None,
        interleaved=ctx.attr(node, "interleaved") or None,
    )


def tensor_scatter(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """TensorScatter, from opset 24: ``TensorScatter(cache, update, places)`` becomes ``tensor_scatter(cache, update,
    places, axis=-2, mode="linear")``. Places that are absent are dropped; the result is a new tensor.
    """
    return ctx.call("tensor_scatter", *ctx.inputs(node), axis=ctx.attr(node, "axis"), mode=ctx.attr(node, "mode"))


def causal_conv(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """CausalConvWithState, from opset 27: ``CausalConvWithState(x, w, b, past)`` becomes ``causal_conv(x, w, b, past,
    activation="none")``, a tuple of the output and the last inputs, which are the state for a next call.
    """
    inputs = [ctx.input(node, i) for i in range(4)]
    return TupleExpression(ctx.call("causal_conv", *inputs, activation=ctx.attr(node, "activation")), 2)


def linear_attention(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LinearAttention, from opset 27: its rule follows from which of decay and beta are given.

    ``LinearAttention(q, k, v, state, decay, beta, q_num_heads=4, kv_num_heads=4)`` becomes ``linear_attention(q, k, v,
    state, decay, beta, heads=4, kv_heads=4)``, a tuple of the output and the state. A ``scale`` of 0 is left out;
    ``update_rule`` and ``chunk_size`` are not read.
    """
    attrs = {
        "heads": ctx.attr(node, "q_num_heads"),
        "kv_heads": ctx.attr(node, "kv_num_heads"),
        "scale": ctx.attr(node, "scale") or None,
    }
    return TupleExpression(ctx.call("linear_attention", *[ctx.input(node, i) for i in range(6)], **attrs), 2)
