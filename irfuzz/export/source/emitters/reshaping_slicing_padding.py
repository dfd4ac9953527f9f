"""Expressions for nodes that move, repeat or select elements by position."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, TupleExpression, literal


def reshape(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Reshape; the framework's own if the shape is spelled out.

    ``Reshape(x, shape)`` becomes ``x.reshape((2, 3))`` in PyTorch if the shape is constant and all its sizes are above
    0. Else it is ``reshape(x, (0, -1))`` or ``reshape(x, ints(shape))``, with ``allowzero`` (opset 14) if it is set.
    """
    x, shape = ctx.input(node, 0), ctx.ints(node, 1)
    allowzero = ctx.attr(node, "allowzero") or None
    if isinstance(shape, tuple) and all(n > 0 for n in shape):
        return ctx.form("reshape", x=x, shape=literal(shape))
    return ctx.call("reshape", x, shape, allowzero=allowzero)


def transpose(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Transpose; all axes reversed unless ``perm`` is given.

    ``Transpose(x, perm=[0, 2, 1])`` becomes ``x.permute((0, 2, 1))`` in PyTorch and ``tf.transpose(x, (0, 2, 1))`` in
    TensorFlow. Without ``perm`` no rank has to be known.
    """
    x, perm = ctx.input(node, 0), ctx.attr(node, "perm")
    return ctx.form("reverse_axes", x=x) if perm is None else ctx.form("permute", x=x, perm=literal(perm))


def _axes(ctx: EmitterContext, node: ir.Node) -> tuple[int, ...] | Code | None:
    """Axes as an attribute (before opset 13) or as the second input."""
    return ctx.attr(node, "axes") if "axes" in node.attributes else ctx.ints(node, 1)


def squeeze(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Squeeze, with axes as an attribute (before opset 13) or as the second input.

    ``Squeeze(x, axes)`` becomes ``squeeze(x, (1,))`` if the axes are constant, else ``squeeze(x, ints(axes))``; without
    axes it becomes ``squeeze(x)``, which drops all of size 1.
    """
    return ctx.call("squeeze", ctx.input(node, 0), _axes(ctx, node))


def unsqueeze(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Unsqueeze, with axes as an attribute (before opset 13) or as the second input.

    ``Unsqueeze(x, axes)`` becomes ``unsqueeze(x, (1,))`` if the axes are constant, else ``unsqueeze(x, ints(axes))``.
    Axes count in the result.
    """
    return ctx.call("unsqueeze", ctx.input(node, 0), _axes(ctx, node))


def flatten(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Flatten: ``Flatten(x)`` becomes ``flatten(x, 1)``, a matrix of the axes before that one and of those from it on.
    The axis is always written, 1 by default.
    """
    return ctx.call("flatten", ctx.input(node, 0), ctx.attr(node, "axis"))


def concat(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Concat: ``Concat(a, b, axis=1)`` becomes ``torch.cat([a, b], 1)`` in PyTorch and ``tf.concat([a, b], 1)`` in
    TensorFlow. Inputs that are absent are left out.
    """
    return ctx.form("concat", parts=f"[{', '.join(ctx.given(node))}]", axis=ctx.attr(node, "axis"))


def split(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Split by sizes (attribute before opset 13, then input) or into equal parts.

    ``a, b = Split(x, sizes, axis=1)`` becomes ``x.split([1, 2], 1)`` in PyTorch, and without sizes ``split_equal(x, 2,
    1)``, of which the first number is ``num_outputs`` (opset 18) or how many outputs there are.
    """
    x, axis, count = ctx.input(node, 0), ctx.attr(node, "axis"), len(node.outputs)
    sizes = ctx.attr(node, "split") if "split" in node.attributes else ctx.ints(node, 1)
    if sizes is None:
        return TupleExpression(ctx.call("split_equal", x, ctx.attr(node, "num_outputs", count), axis), count)
    sizes = list(sizes) if isinstance(sizes, tuple) else sizes
    return TupleExpression(ctx.form("split", x=x, sizes=literal(sizes), axis=axis), count)


def slice_(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Slice by attributes (before opset 10) or inputs.

    ``Slice(x, starts, ends, axes, steps)`` becomes ``slice_(x, (0,), (4,), (1,), steps=(2,))``; inputs that are not
    constant are ``ints(starts)`` and so on. Without axes the first ones are cut.
    """
    if ctx.opset < 10:
        return ctx.call("slice_", ctx.input(node, 0), *[ctx.attr(node, n) for n in ("starts", "ends", "axes")])
    steps = ctx.ints(node, 4)
    return ctx.call("slice_", ctx.input(node, 0), ctx.ints(node, 1), ctx.ints(node, 2), ctx.ints(node, 3), steps=steps)


def pad(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Pad by attributes (before opset 11) or inputs.

    ``Pad(x, pads=[1, 1], value=2.0)`` becomes ``pad_with(x, (1, 1), 2.0)``, and ``Pad(x, pads, value, axes)`` becomes
    ``pad(x, (1, 1), value=value, axes=(0,))``. ``mode`` follows if it is not ``constant``; axes came with opset 18.
    """
    mode = ctx.attr(node, "mode")
    mode = None if mode == "constant" else mode
    if ctx.opset < 11:
        return ctx.call("pad_with", ctx.input(node, 0), ctx.attr(node, "pads"), ctx.attr(node, "value"), mode=mode)
    value, axes = ctx.input(node, 2), ctx.ints(node, 3)
    return ctx.call("pad", ctx.input(node, 0), ctx.ints(node, 1), mode=mode, value=value, axes=axes)


def tile(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Tile: ``Tile(x, repeats)`` becomes ``tile(x, (1, 2))`` if the repeats are constant, else ``tile(x,
    ints(repeats))``: one number for each axis of ``x``.
    """
    return ctx.call("tile", ctx.input(node, 0), ctx.ints(node, 1))


def expand(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Expand, from opset 8: ``Expand(x, shape)`` becomes ``expand(x, (2, 1))`` if the shape is constant, else
    ``expand(x, ints(shape))``. Both shapes are broadcast against each other, so that a 1 in ``shape`` keeps a size.
    """
    return ctx.call("expand", ctx.input(node, 0), ctx.ints(node, 1))


def shape(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Shape, from ``start`` to ``end`` (opset 15), clamped as Python's slices are.

    ``Shape(x, start=1)`` becomes ``torch.tensor(x.shape[1:], dtype=torch.int64)`` in PyTorch and ``tf.shape(x,
    out_type=tf.int64)[1:]`` in TensorFlow; the slice is left out if it is the whole.
    """
    start, end = ctx.attr(node, "start", 0), ctx.attr(node, "end")
    part = "" if not start and end is None else f"[{start or ''}:{'' if end is None else end}]"
    return ctx.form("shape", x=ctx.input(node, 0), part=part)


def size(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Size: it becomes ``torch.tensor(x.numel(), dtype=torch.int64)`` in PyTorch and ``tf.size(x, out_type=tf.int64)``
    in TensorFlow, a scalar that says how many elements there are.
    """
    return ctx.form("size", x=ctx.input(node, 0))


def space_to_depth(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SpaceToDepth; ``mode`` came at opset 28.

    ``SpaceToDepth(x, blocksize=2)`` becomes ``space_to_depth(x, 2)``, and in mode CRD ``space_to_depth(x, 2, "CRD")``,
    which puts blocks behind channels.
    """
    mode = ctx.attr(node, "mode", "DCR")
    return ctx.call("space_to_depth", ctx.input(node, 0), ctx.attr(node, "blocksize"), None if mode == "DCR" else mode)


def depth_to_space(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DepthToSpace; only DCR before opset 11.

    ``DepthToSpace(x, blocksize=2)`` becomes ``depth_to_space(x, 2, "DCR")``. The mode is always written: blocks before
    channels in DCR, behind them in CRD.
    """
    return ctx.call("depth_to_space", ctx.input(node, 0), ctx.attr(node, "blocksize"), ctx.attr(node, "mode", "DCR"))


def range_(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Range, from opset 11: ``Range(start, limit, delta)`` becomes ``range_(start, limit, delta)``. The three are
    scalars of one type, and how many elements there are is found when the module runs.
    """
    return ctx.call("range_", *ctx.given(node))


def eye_like(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """EyeLike, from opset 9, in the type asked for, else in that of its input.

    ``EyeLike(x, dtype=1)`` becomes ``eye_like(x, 0, torch.float32)``, and without ``dtype`` ``eye_like(x, 0,
    x.dtype)``. The number is ``k``, the diagonal.
    """
    x, dtype = ctx.input(node, 0), ctx.attr(node, "dtype")
    spelled = Code(f"{x}.dtype") if dtype is None else ctx.spelled(node, dtype)
    return ctx.call("eye_like", x, ctx.attr(node, "k"), spelled)


def trilu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Trilu, from opset 14; the diagonal is an input, 0 if it is absent.

    ``Trilu(x, k, upper=0)`` becomes ``trilu(x, -1, 0)`` if the diagonal is constant, else ``trilu(x, k, 0)``. The last
    number is ``upper``, 1 by default.
    """
    known = ctx.constant(ctx.input_value(node, 1))
    k = ctx.input(node, 1) or 0
    if known is not None:
        k = int(known.reshape(-1)[0])
    return ctx.call("trilu", ctx.input(node, 0), k, ctx.attr(node, "upper"))


def center_crop_pad(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """CenterCropPad, from opset 18: ``CenterCropPad(x, shape, axes=[1])`` becomes ``center_crop_pad(x, (4,),
    axes=(1,))``, or with ``ints(shape)`` if that is computed. Without axes the shape is that of all axes.
    """
    return ctx.call("center_crop_pad", ctx.input(node, 0), ctx.ints(node, 1), axes=ctx.attr(node, "axes"))


def compress(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Compress, from opset 9: ``Compress(x, condition, axis=1)`` becomes ``compress(x, condition, axis=1)``. Without an
    axis it is left out, and elements are taken from the flattened tensor.
    """
    return ctx.call("compress", ctx.input(node, 0), ctx.input(node, 1), axis=ctx.attr(node, "axis"))


def reverse_sequence(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ReverseSequence, from opset 10: ``ReverseSequence(x, lengths)`` becomes ``reverse_sequence(x, lengths, 1, 0)``.
    The numbers are the batch axis and the time axis, always written, with ONNX's defaults.
    """
    batch, time = ctx.attr(node, "batch_axis"), ctx.attr(node, "time_axis")
    return ctx.call("reverse_sequence", ctx.input(node, 0), ctx.input(node, 1), batch, time)
