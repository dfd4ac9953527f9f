"""Expressions for nodes on signals and boxes (windows, Fourier transforms, sampling, selection)."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, Emitter, EmitterContext, TupleExpression

_MODES = {"linear": "bilinear", "cubic": "bicubic"}


def window(*weights: float) -> Emitter:
    """An emitter of a window that is a sum of cosines: BlackmanWindow, HammingWindow or HannWindow, from opset 17.

    ``HannWindow(size)`` becomes ``cosine_window(size, (0.5, 0.5), 1, torch.float32)``; the numbers behind the weights
    are ``periodic`` and ``output_datatype``.

    Args:
        *weights: of cos(2 pi i n / N) for i from 0 on, with alternating signs.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        dtype = ctx.spelled(node, ctx.attr(node, "output_datatype"))
        return ctx.call("cosine_window", ctx.input(node, 0), weights, ctx.attr(node, "periodic"), dtype)

    return emit


def dft(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DFT, from opset 17; the axis is an attribute before opset 20 and the third input from then on.

    ``DFT(x, length, axis)`` becomes ``dft(x, length, axis=axis)``. ``inverse`` and ``onesided`` follow if they are set;
    an input that is absent leaves the default to the function.
    """
    axis = ctx.attr(node, "axis") if ctx.opset < 20 else ctx.input(node, 2)
    onesided, inverse = ctx.attr(node, "onesided") or None, ctx.attr(node, "inverse") or None
    return ctx.call("dft", ctx.input(node, 0), ctx.input(node, 1), axis=axis, inverse=inverse, onesided=onesided)


def stft(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """STFT, from opset 17: ``STFT(x, step, window, length)`` becomes ``stft(x, step, window, length, onesided=1)``.
    Either of the last two inputs may be ``None``. ``x`` is (batch, samples, 1 or 2), the result (batch, frames,
    frequencies, 2).
    """
    return ctx.call("stft", *[ctx.input(node, i) for i in range(4)], onesided=ctx.attr(node, "onesided"))


def mel_weights(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MelWeightMatrix, from opset 17: it becomes ``mel_weights(bins, length, rate, low, high, torch.float32)``. The
    five inputs are scalars; the type is ``output_datatype``, and one that the framework lacks raises ``Unsupported``.
    """
    return ctx.call("mel_weights", *ctx.inputs(node), ctx.spelled(node, ctx.attr(node, "output_datatype")))


def affine_grid(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """AffineGrid, from opset 20: ``AffineGrid(theta, size)`` becomes ``affine_grid(theta, (1, 1, 2, 3))`` if the size
    is constant, else ``affine_grid(theta, ints(size))``. ``align_corners`` follows if it is set.
    """
    align = ctx.attr(node, "align_corners") or None
    return ctx.call("affine_grid", ctx.input(node, 0), ctx.ints(node, 1), align_corners=align)


def grid_sample(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GridSample, from opset 16; the names of modes changed with opset 20.

    ``GridSample(x, grid, mode="linear")`` becomes ``grid_sample(x, grid, "bilinear", "zeros")``: ``linear`` and
    ``cubic`` are passed by their older names. ``align_corners`` follows if it is set. Integers raise ``Unsupported``:
    ONNX does not say how sampling rounds them.
    """
    dtype = ctx.dtype(node.inputs[0])
    if dtype is not None and not ctx.is_float(node.inputs[0]):
        raise ctx.unsupported(node, f"ONNX does not say how sampling rounds {dtype.name}")
    mode = ctx.attr(node, "mode")
    align = ctx.attr(node, "align_corners") or None
    padding = ctx.attr(node, "padding_mode")
    return ctx.call("grid_sample", *ctx.inputs(node), _MODES.get(mode, mode), padding, align_corners=align)


def max_unpool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MaxUnpool, from opset 9: ``MaxUnpool(x, index, kernel_shape=[2])`` becomes ``max_unpool(x, index, (2,))``, with
    strides and pads if the node has them.

    A third input, ``output_shape``, raises ``Unsupported``: ONNX does not say in which shape indices count then.
    """
    if ctx.input(node, 2) is not None:
        raise ctx.unsupported(node, "ONNX does not say in which shape indices count where output_shape is given")
    attrs = {name: ctx.attr(node, name) for name in ("strides", "pads")}
    return ctx.call("max_unpool", ctx.input(node, 0), ctx.input(node, 1), ctx.attr(node, "kernel_shape"), **attrs)


def col2im(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Col2Im, from opset 18: ``Col2Im(x, image, block)`` becomes ``col2im(x, (4, 4), (2, 2))``, with ``ints(image)``
    for what is computed. Strides, dilations and pads follow if the node has them.
    """
    attrs = {name: ctx.attr(node, name) for name in ("strides", "dilations", "pads")}
    return ctx.call("col2im", ctx.input(node, 0), ctx.ints(node, 1), ctx.ints(node, 2), **attrs)


def roi_align(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """RoiAlign, from opset 10; before opset 16 without the half pixel.

    ``RoiAlign(x, rois, images)`` becomes ``roi_align(x, rois, images, height=1, width=1, ratio=0, scale=1.0,
    mode="avg", half_pixel=1)``. All attributes are written, with ONNX's defaults; ``half_pixel`` is 1 only for that
    ``coordinate_transformation_mode``.
    """
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
    """DeformConv, from opset 19: ``DeformConv(x, w, offset, b, mask)`` becomes ``deform_conv(x, w, offset, b, mask,
    group=1, offset_group=1)``. Strides, dilations and pads follow if the node has them; the kernel's shape is read from
    the weights.
    """
    attrs = {name: ctx.attr(node, name) for name in ("strides", "dilations", "pads", "group", "offset_group")}
    return ctx.call("deform_conv", *ctx.inputs(node), **attrs)


def unique(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Unique, from opset 11: ``Unique(x, axis=1)`` becomes ``unique(x, axis=1, sort=1)``, a tuple of elements, first
    places, place of each in the result, and counts.

    Without an axis the flattened tensor is looked at. Sorted strings raise ``Unsupported``.
    """
    ordered = ctx.attr(node, "sorted")
    if ordered and ctx.dtype(node.inputs[0]) == ir.DataType.STRING:
        raise ctx.unsupported(node, "sorted strings, which the framework does not compare")
    return TupleExpression(ctx.call("unique", ctx.input(node, 0), axis=ctx.attr(node, "axis"), sort=ordered), 4)


def non_max_suppression(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """NonMaxSuppression, from opset 10: it becomes ``non_max_suppression(boxes, scores, most, iou, least)``, rows of
    (batch, class, box). Inputs that are absent are ``None``, or dropped at the end; ``center_point_box`` follows as
    ``centered=1`` if it is set.
    """
    inputs = [ctx.input(node, i) for i in range(5)]
    return ctx.call("non_max_suppression", *inputs, centered=ctx.attr(node, "center_point_box") or None)


def bit_cast(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BitCast, from opset 26: ``BitCast(x, to=6)`` becomes ``bit_cast(x, torch.int32)``, the same bits in another type
    of the same width. A type that the framework lacks raises ``Unsupported``.
    """
    return ctx.call("bit_cast", ctx.input(node, 0), ctx.spelled(node, ctx.attr(node, "to")))
