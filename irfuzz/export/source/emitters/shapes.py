"""Expressions for nodes that move, repeat or select elements by position."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, TupleExpression, literal


def reshape(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Reshape; the framework's own if the shape is spelled out."""
    x, shape = ctx.input(node, 0), ctx.ints(node, 1)
    allowzero = ctx.attr(node, "allowzero") or None
    if isinstance(shape, tuple) and all(n > 0 for n in shape):
        return ctx.form("reshape", x=x, shape=literal(shape))
    return ctx.call("reshape", x, shape, allowzero=allowzero)


def transpose(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Transpose; all axes reversed unless told."""
    x, perm = ctx.input(node, 0), ctx.attr(node, "perm")
    return ctx.form("reverse_axes", x=x) if perm is None else ctx.form("permute", x=x, perm=literal(perm))


def _axes(ctx: EmitterContext, node: ir.Node) -> tuple[int, ...] | Code | None:
    """Axes as an attribute (before opset 13) or as the second input."""
    return ctx.attr(node, "axes") if "axes" in node.attributes else ctx.ints(node, 1)


def squeeze(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Squeeze."""
    return ctx.call("squeeze", ctx.input(node, 0), _axes(ctx, node))


def unsqueeze(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Unsqueeze."""
    return ctx.call("unsqueeze", ctx.input(node, 0), _axes(ctx, node))


def flatten(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Flatten."""
    return ctx.call("flatten", ctx.input(node, 0), ctx.attr(node, "axis"))


def concat(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Concat."""
    return ctx.form("concat", parts=f"[{', '.join(ctx.given(node))}]", axis=ctx.attr(node, "axis"))


def split(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Split by sizes (attribute before opset 13, then input) or into equal parts."""
    x, axis, count = ctx.input(node, 0), ctx.attr(node, "axis"), len(node.outputs)
    sizes = ctx.attr(node, "split") if "split" in node.attributes else ctx.ints(node, 1)
    if sizes is None:
        return TupleExpression(ctx.call("split_equal", x, ctx.attr(node, "num_outputs", count), axis), count)
    sizes = list(sizes) if isinstance(sizes, tuple) else sizes
    return TupleExpression(ctx.form("split", x=x, sizes=literal(sizes), axis=axis), count)


def slice_(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Slice by attributes (before opset 10) or inputs."""
    if ctx.opset < 10:
        return ctx.call("slice_", ctx.input(node, 0), *[ctx.attr(node, n) for n in ("starts", "ends", "axes")])
    steps = ctx.ints(node, 4)
    return ctx.call("slice_", ctx.input(node, 0), ctx.ints(node, 1), ctx.ints(node, 2), ctx.ints(node, 3), steps=steps)


def pad(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Pad by attributes (before opset 11) or inputs."""
    mode = ctx.attr(node, "mode")
    mode = None if mode == "constant" else mode
    if ctx.opset < 11:
        return ctx.call("pad_with", ctx.input(node, 0), ctx.attr(node, "pads"), ctx.attr(node, "value"), mode=mode)
    value, axes = ctx.input(node, 2), ctx.ints(node, 3)
    return ctx.call("pad", ctx.input(node, 0), ctx.ints(node, 1), mode=mode, value=value, axes=axes)


def tile(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Tile."""
    return ctx.call("tile", ctx.input(node, 0), ctx.ints(node, 1))


def expand(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Expand."""
    return ctx.call("expand", ctx.input(node, 0), ctx.ints(node, 1))


def shape(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Shape, from ``start`` to ``end`` (opset 15), clamped as Python's slices are."""
    start, end = ctx.attr(node, "start", 0), ctx.attr(node, "end")
    part = "" if not start and end is None else f"[{start or ''}:{'' if end is None else end}]"
    return ctx.form("shape", x=ctx.input(node, 0), part=part)


def size(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Size."""
    return ctx.form("size", x=ctx.input(node, 0))


def space_to_depth(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SpaceToDepth; ``mode`` came at opset 28."""
    mode = ctx.attr(node, "mode", "DCR")
    return ctx.call("space_to_depth", ctx.input(node, 0), ctx.attr(node, "blocksize"), None if mode == "DCR" else mode)


def depth_to_space(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DepthToSpace; only DCR before opset 11."""
    return ctx.call("depth_to_space", ctx.input(node, 0), ctx.attr(node, "blocksize"), ctx.attr(node, "mode", "DCR"))


def range_(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Range."""
    return ctx.call("range_", *ctx.given(node))


def eye_like(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """EyeLike in the type asked for, else in that of its input."""
    x, dtype = ctx.input(node, 0), ctx.attr(node, "dtype")
    spelled = Code(f"{x}.dtype") if dtype is None else ctx.spelled(node, dtype)
    return ctx.call("eye_like", x, ctx.attr(node, "k"), spelled)


def trilu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Trilu; the diagonal is an input."""
    known = ctx.constant(ctx.input_value(node, 1))
    k = ctx.input(node, 1) or 0
    if known is not None:
        k = int(known.reshape(-1)[0])
    return ctx.call("trilu", ctx.input(node, 0), k, ctx.attr(node, "upper"))


def center_crop_pad(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """CenterCropPad."""
    return ctx.call("center_crop_pad", ctx.input(node, 0), ctx.ints(node, 1), axes=ctx.attr(node, "axes"))


def compress(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Compress."""
    return ctx.call("compress", ctx.input(node, 0), ctx.input(node, 1), axis=ctx.attr(node, "axis"))


def reverse_sequence(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ReverseSequence."""
    batch, time = ctx.attr(node, "batch_axis"), ctx.attr(node, "time_axis")
    return ctx.call("reverse_sequence", ctx.input(node, 0), ctx.input(node, 1), batch, time)
