"""Expressions for normalisation nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression


def batch_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BatchNormalization; training only if its result is defined (from opset 14)."""
    epsilon = ctx.attr(node, "epsilon")
    if ctx.opset >= 14 and ctx.attr(node, "training_mode"):
        call = ctx.call("batch_norm_training", *ctx.inputs(node), epsilon=epsilon, momentum=ctx.attr(node, "momentum"))
        return TupleExpression(call, 3)
    if ctx.opset < 7 and not ctx.attr(node, "is_test"):
        raise ctx.unsupported(node, "training before opset 14")
    if not ctx.attr(node, "spatial", 1):
        raise ctx.unsupported(node, "statistics for each activation (spatial = 0)")
    if len([v for v in node.outputs if v.name]) > 1:
        raise ctx.unsupported(node, "training outputs before opset 14")
    return ctx.call("batch_norm", *ctx.inputs(node), epsilon=epsilon)


def layer_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LayerNormalization with its optional mean and inverse deviation."""
    stash = ctx.spelled(node, ctx.attr(node, "stash_type"))
    axis, epsilon = ctx.attr(node, "axis"), ctx.attr(node, "epsilon")
    call = ctx.call("layer_norm", *ctx.inputs(node), axis=axis, epsilon=epsilon, stash_type=stash)
    return TupleExpression(call, 3) if len(node.outputs) > 1 else f"{call}[0]"


def rms_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """RMSNormalization."""
    dtype, scale = ctx.dtype(node.inputs[0]), ctx.dtype(node.inputs[1])
    if None not in (dtype, scale) and dtype != scale:
        raise ctx.unsupported(node, "ONNX's function body has no type where X and scale have different ones")
    stash = ctx.spelled(node, ctx.attr(node, "stash_type"))
    return ctx.call(
        "rms_norm", *ctx.inputs(node), axis=ctx.attr(node, "axis"), epsilon=ctx.attr(node, "epsilon"), stash_type=stash
    )


def instance_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """InstanceNormalization."""
    return ctx.call("instance_norm", *ctx.inputs(node), epsilon=ctx.attr(node, "epsilon"))


def group_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GroupNormalization; stash_type exists from opset 21."""
    stash = ctx.spelled(node, ctx.attr(node, "stash_type")) if ctx.opset >= 21 else None
    groups, epsilon = ctx.attr(node, "num_groups"), ctx.attr(node, "epsilon")
    return ctx.call("group_norm", *ctx.inputs(node), num_groups=groups, epsilon=epsilon, stash_type=stash)


def lrn(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LRN."""
    attrs = {name: ctx.attr(node, name) for name in ("size", "alpha", "beta", "bias")}
    return ctx.call("lrn", ctx.input(node, 0), **attrs)


def mean_variance_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MeanVarianceNormalization."""
    return ctx.call("mean_variance_norm", ctx.input(node, 0), ctx.attr(node, "axes"))


def lp_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LpNormalization."""
    return ctx.call("lp_normalization", ctx.input(node, 0), axis=ctx.attr(node, "axis"), p=ctx.attr(node, "p"))
