"""Expressions for resampling nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext


def _floats(ctx: EmitterContext, node: ir.Node, index: int) -> tuple[float, ...] | Code | None:
    """A float input as a literal tuple if constant, else code that reads it; ``None`` if absent or empty."""
    value = ctx.input_value(node, index)
    if value is None:
        return None
    known = ctx.constant(value)
    if known is not None:
        return tuple(float(e) for e in known.reshape(-1)) or None
    return Code(ctx.call("ints", ctx.name(value)))


def resize(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Resize; at opset 10 it was Upsample in another name, and is emitted as that.

    ``Resize(x, roi, scales)`` becomes ``resize(x, scales=(1.0, 2.0), mode="nearest", coordinates="half_pixel",
    nearest="round_prefer_floor", policy="stretch")``. Attributes that the mode does not use are left out, and so is the
    region unless ``tf_crop_and_resize`` reads it. Other modes than ``nearest`` raise ``Unsupported`` on integers.
    """
    if ctx.opset < 11:
        return upsample(ctx, node)
    x = ctx.input_value(node, 0)
    mode = ctx.attr(node, "mode")
    dtype = ctx.dtype(x)
    if mode != "nearest" and dtype is not None and not ctx.is_float(x):
        raise ctx.unsupported(node, f"ONNX does not say how {mode} resizing rounds {dtype.name}")
    coordinates = ctx.attr(node, "coordinate_transformation_mode")
    sizes = ctx.ints(node, 3)
    return ctx.call(
        "resize",
        ctx.input(node, 0),
        roi=_floats(ctx, node, 1) if coordinates == "tf_crop_and_resize" else None,
        scales=_floats(ctx, node, 2),
        sizes=sizes,
        axes=ctx.attr(node, "axes"),
        mode=mode,
        coordinates=coordinates,
        nearest=ctx.attr(node, "nearest_mode") if mode == "nearest" else None,
        cubic_a=ctx.attr(node, "cubic_coeff_a") if mode == "cubic" else None,
        exclude_outside=ctx.attr(node, "exclude_outside") or None,
        extrapolation=ctx.attr(node, "extrapolation_value") or None,
        antialias=ctx.attr(node, "antialias") or None,
        policy=ctx.attr(node, "keep_aspect_ratio_policy"),
    )


def upsample(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Upsample, and Resize of opset 10: positions x / scale, rounded down if nearest.

    ``Upsample(x, scales)`` becomes ``resize(x, scales=(1.0, 2.0), mode="nearest", coordinates="asymmetric",
    nearest="floor")``. Scales are an attribute before opset 9. A mode other than ``nearest`` and ``linear`` raises
    ``Unsupported``.
    """
    scales = ctx.attr(node, "scales") if "scales" in node.attributes else _floats(ctx, node, 1)
    mode = ctx.attr(node, "mode")
    if mode not in ("nearest", "linear"):
        raise ctx.unsupported(node, f"mode {mode!r}")
    return ctx.call("resize", ctx.input(node, 0), scales=scales, mode=mode, coordinates="asymmetric", nearest="floor")
