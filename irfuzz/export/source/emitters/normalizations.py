"""Expressions for normalisation nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext, TupleExpression


def batch_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BatchNormalization; training only if its result is defined (from opset 14).

    ``BatchNormalization(x, scale, b, mean, var)`` becomes ``batch_norm(x, scale, b, mean, var, epsilon=...)``, and with
    ``training_mode`` ``batch_norm_training``, which also has ``momentum`` and gives three values. ``Unsupported`` is
    raised for ``is_test = 0`` before opset 7, ``spatial = 0``, and several outputs in use without ``training_mode``.
    """
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
    """LayerNormalization, from opset 17, with its optional mean and inverse deviation.

    It becomes ``layer_norm(x, scale, b, axis=-1, epsilon=..., stash_type=torch.float32)``, which gives three values; a
    node with one output takes ``[0]`` of them.
    """
    stash = ctx.spelled(node, ctx.attr(node, "stash_type"))
    axis, epsilon = ctx.attr(node, "axis"), ctx.attr(node, "epsilon")
    call = ctx.call("layer_norm", *ctx.inputs(node), axis=axis, epsilon=epsilon, stash_type=stash)
    return TupleExpression(call, 3) if len(node.outputs) > 1 else f"{call}[0]"


def rms_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """RMSNormalization, from opset 23: it becomes ``rms_norm(x, scale, axis=-1, epsilon=...,
    stash_type=torch.float32)``.

    An input and a scale that are known to have different element types raise ``Unsupported``: ONNX's function body has
    no type then.
    """
    dtype, scale = ctx.dtype(node.inputs[0]), ctx.dtype(node.inputs[1])
    if None not in (dtype, scale) and dtype != scale:
        raise ctx.unsupported(node, "ONNX's function body has no type where X and scale have different ones")
    stash = ctx.spelled(node, ctx.attr(node, "stash_type"))
    return ctx.call(
        "rms_norm", *ctx.inputs(node), axis=ctx.attr(node, "axis"), epsilon=ctx.attr(node, "epsilon"), stash_type=stash
    )


def instance_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """InstanceNormalization: it becomes ``instance_norm(x, scale, b, epsilon=...)``. Each channel of each item of (N,
    C, ...) is normalised by its own mean and variance.
    """
    return ctx.call("instance_norm", *ctx.inputs(node), epsilon=ctx.attr(node, "epsilon"))


def group_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GroupNormalization, from opset 18; ``stash_type`` exists from opset 21 and is left out before.

    It becomes ``group_norm(x, scale, b, num_groups=2, epsilon=..., stash_type=torch.float32)``. Whether a scale belongs
    to a group (opset 18) or a channel, the support function tells from its size.
    """
    stash = ctx.spelled(node, ctx.attr(node, "stash_type")) if ctx.opset >= 21 else None
    groups, epsilon = ctx.attr(node, "num_groups"), ctx.attr(node, "epsilon")
    return ctx.call("group_norm", *ctx.inputs(node), num_groups=groups, epsilon=epsilon, stash_type=stash)


def lrn(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LRN: ``LRN(x, size=3)`` becomes ``lrn(x, size=3, alpha=..., beta=0.75, bias=1.0)``, with ONNX's defaults written
    out. ``size`` neighbouring channels of (N, C, ...) are summed up.
    """
    attrs = {name: ctx.attr(node, name) for name in ("size", "alpha", "beta", "bias")}
    return ctx.call("lrn", ctx.input(node, 0), **attrs)


def mean_variance_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MeanVarianceNormalization, from opset 9: it becomes ``mean_variance_norm(x, (0, 2, 3))``. The axes are always
    written; these are ONNX's default, all but the channels of (N, C, H, W).
    """
    return ctx.call("mean_variance_norm", ctx.input(node, 0), ctx.attr(node, "axes"))


def lp_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LpNormalization: ``LpNormalization(x, axis=1, p=2)`` becomes ``lp_normalization(x, axis=1, p=2)``. Both are
    always written, -1 and 2 by default; ``p`` is 1 or 2. A norm of 0 gives 0.
    """
    return ctx.call("lp_normalization", ctx.input(node, 0), axis=ctx.attr(node, "axis"), p=ctx.attr(node, "p"))
