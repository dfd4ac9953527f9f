"""Expressions for convolution nodes."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, Emitter, EmitterContext


def window_attrs(ctx: EmitterContext, node: ir.Node) -> dict[str, Any]:
    """strides, dilations, pads and auto_pad as keyword arguments, those at their defaults left out.

    Left out means that the value is ``None``, which ``EmitterContext.call`` drops. ``pads`` are as ONNX has them, all
    beginnings, then all ends, and are read only if ``auto_pad`` is NOTSET. A convolution with strides 2 alone gives
    ``{"strides": (2, 2), "dilations": None, "pads": None, "auto_pad": None}``.
    """
    auto_pad = ctx.attr(node, "auto_pad", "NOTSET")
    pads = ctx.attr(node, "pads") if auto_pad == "NOTSET" else None
    strides, dilations = ctx.attr(node, "strides"), ctx.attr(node, "dilations")
    return {
        "strides": strides if strides and any(s != 1 for s in strides) else None,
        "dilations": dilations if dilations and any(d != 1 for d in dilations) else None,
        "pads": pads if pads and any(pads) else None,
        "auto_pad": auto_pad if auto_pad != "NOTSET" else None,
    }


def _group(ctx: EmitterContext, node: ir.Node) -> int | None:
    group = ctx.attr(node, "group")
    return group if group != 1 else None


def _refuse_rank(ctx: EmitterContext, node: ir.Node, index: int) -> None:
    value = ctx.input_value(node, index)
    rank = None if value is None or value.shape is None else len(value.shape)
    if rank is not None and not 3 <= rank <= 5:
        raise ctx.unsupported(node, f"{ctx.framework.component} convolves 1 to 3 spatial axes, not {rank - 2}")


def convolution(function: str) -> Emitter:
    """An emitter of Conv, ConvInteger or QLinearConv.

    ``Conv(x, w, b, strides=[2, 2])`` becomes ``conv(x, w, b, strides=(2, 2))``; the kernel's shape is read from the
    weights. An input known to have other than 1 to 3 spatial axes raises ``Unsupported``.

    Args:
        function: support function that computes it; all inputs of the node are passed in order.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        _refuse_rank(ctx, node, 0)
        return ctx.call(function, *ctx.inputs(node), **window_attrs(ctx, node), group=_group(ctx, node))

    return emit


def conv_transpose(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ConvTranspose: ``ConvTranspose(x, w, strides=[2, 2])`` becomes ``conv_transpose(x, w, strides=(2, 2))``.

    ``Unsupported`` is raised for other than 1 to 3 spatial axes, and before opset 11 for ``output_shape`` and SAME
    pads: ONNX then put the odd padding on the other side than it says.
    """
    _refuse_rank(ctx, node, 0)
    generated = ctx.attr(node, "output_shape") or ctx.attr(node, "auto_pad") in ("SAME_UPPER", "SAME_LOWER")
    if ctx.opset < 11 and generated:
        raise ctx.unsupported(node, "before opset 11 ONNX put the odd padding on the other side than it says")
    return ctx.call(
        "conv_transpose",
        *ctx.inputs(node),
        **window_attrs(ctx, node),
        group=_group(ctx, node),
        output_padding=ctx.attr(node, "output_padding"),
        output_shape=ctx.attr(node, "output_shape"),
    )
