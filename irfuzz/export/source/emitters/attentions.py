"""Expressions for nodes of language models."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression

_FLOAT = 1


def attention(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Attention, with softmax in float32 or wider."""
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
    """RotaryEmbedding."""
    return ctx.call(
        "rotary_embedding",
        *[ctx.input(node, i) for i in range(4)],
        heads=ctx.attr(node, "num_heads"),
        width=ctx.attr(node, "rotary_embedding_dim") or None,
        interleaved=ctx.attr(node, "interleaved") or None,
    )


def tensor_scatter(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """TensorScatter."""
    return ctx.call("tensor_scatter", *ctx.inputs(node), axis=ctx.attr(node, "axis"), mode=ctx.attr(node, "mode"))


def causal_conv(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """CausalConvWithState."""
    inputs = [ctx.input(node, i) for i in range(4)]
    return TupleExpression(ctx.call("causal_conv", *inputs, activation=ctx.attr(node, "activation")), 2)


def linear_attention(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LinearAttention: its rule follows from which of decay and beta are given."""
    attrs = {
        "heads": ctx.attr(node, "q_num_heads"),
        "kv_heads": ctx.attr(node, "kv_num_heads"),
        "scale": ctx.attr(node, "scale") or None,
    }
    return TupleExpression(ctx.call("linear_attention", *[ctx.input(node, i) for i in range(6)], **attrs), 2)
