"""Expressions for nodes on signals and boxes (windows, Fourier transforms, sampling, selection)."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, Emitter, EmitterContext, TupleExpression

_MODES = {"linear": "bilinear", "cubic": "bicubic"}


def window(*weights: float) -> Emitter:
    """A window that is a sum of cosines."""

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        dtype = ctx.spelled(node, ctx.attr(node, "output_datatype"))
        return ctx.call("cosine_window", ctx.input(node, 0), weights, ctx.attr(node, "periodic"), dtype)

    return emit


def dft(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DFT; the axis is an attribute before opset 20."""
    axis = ctx.attr(node, "axis") if ctx.opset < 20 else ctx.input(node, 2)
    onesided, inverse = ctx.attr(node, "onesided") or None, ctx.attr(node, "inverse") or None
    return ctx.call("dft", ctx.input(node, 0), ctx.input(node, 1), axis=axis, inverse=inverse, onesided=onesided)


def stft(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """STFT."""
    return ctx.call("stft", *[ctx.input(node, i) for i in range(4)], onesided=ctx.attr(node, "onesided"))


def mel_weights(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MelWeightMatrix."""
    return ctx.call("mel_weights", *ctx.inputs(node), ctx.spelled(node, ctx.attr(node, "output_datatype")))


def affine_grid(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """AffineGrid."""
    align = ctx.attr(node, "align_corners") or None
    return ctx.call("affine_grid", ctx.input(node, 0), ctx.ints(node, 1), align_corners=align)


def grid_sample(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GridSample; the names of modes changed with opset 20."""
    dtype = ctx.dtype(node.inputs[0])
    if dtype is not None and not ctx.is_float(node.inputs[0]):
        raise ctx.unsupported(node, f"ONNX does not say how sampling rounds {dtype.name}")
    mode = ctx.attr(node, "mode")
    align = ctx.attr(node, "align_corners") or None
    padding = ctx.attr(node, "padding_mode")
    return ctx.call("grid_sample", *ctx.inputs(node), _MODES.get(mode, mode), padding, align_corners=align)


def max_unpool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MaxUnpool."""
    if ctx.input(node, 2) is not None:
        raise ctx.unsupported(node, "ONNX does not say in which shape indices count where output_shape is given")
    attrs = {name: ctx.attr(node, name) for name in ("strides", "pads")}
    return ctx.call("max_unpool", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "kernel_shape"), **attrs)


def col2im(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Col2Im."""
    attrs = {name: ctx.attr(node, name) for name in ("strides", "dilations", "pads")}
    return ctx.call("col2im", ctx.input(node, 0), ctx.ints(node, 1), ctx.ints(node, 2), **attrs)


def roi_align(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """RoiAlign; before opset 16 without the half pixel."""
    attrs = {
        "height": ctx.attr(node, "output_height"),
        "width": ctx.attr(node, "output_width"),
        "ratio": ctx.attr(node, "sampling_ratio"),
        "scale": ctx.attr(node, "spatial_scale"),
        "mode": ctx.attr(node, "mode"),
        "half_pixel": int(ctx.attr(node, "coordinate_transformation_mode", "output_half_pixel") == "half_pixel"),
    }
    return ctx.call("roi_align", *ctx.inputs(node), **attrs)


def deform_conv(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DeformConv."""
    attrs = {name: ctx.attr(node, name) for name in ("strides", "dilations", "pads", "group", "offset_group")}
    return ctx.call("deform_conv", *ctx.inputs(node), **attrs)


def unique(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Unique."""
    ordered = ctx.attr(node, "sorted")
    if ordered and ctx.dtype(node.inputs[0]) == ir.DataType.STRING:
        raise ctx.unsupported(node, "sorted strings, which the framework does not compare")
    return TupleExpression(ctx.call("unique", ctx.input(node, 0), axis=ctx.attr(node, "axis"), sort=ordered), 4)


def non_max_suppression(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """NonMaxSuppression."""
    inputs = [ctx.input(node, i) for i in range(5)]
    return ctx.call("non_max_suppression", *inputs, centered=ctx.attr(node, "center_point_box") or None)


def bit_cast(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BitCast."""
    return ctx.call("bit_cast", ctx.input(node, 0), ctx.spelled(node, ctx.attr(node, "to")))
