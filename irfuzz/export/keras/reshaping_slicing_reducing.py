"""Lowers nodes that move, select or sum up elements to layers and operations of Keras."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.export.keras.layer_emitters import layer
from irfuzz.export.keras.node_checks import shape_of
from irfuzz.export.size_arithmetic.result_shapes import depth_steps
from irfuzz.export.size_arithmetic.slice_and_pad_positions import pad_amounts
from irfuzz.export.source.emitter_context import Code, Emitted, Emitter, EmitterContext, TupleExpression, literal
from irfuzz.ir.inference.shape_rules import slice_positions


def _known(ctx: EmitterContext, node: ir.Node, place: int) -> tuple[int, ...] | None:
    """Integers of an input that has to be constant; ``None`` if it is absent."""
    value = ctx.input_value(node, place)
    array = ctx.constant(value)
    if value is not None and array is None:
        raise ctx.unsupported(node, f"input {place} is computed, and a Keras model has fixed shapes")
    return None if array is None else tuple(int(e) for e in array.reshape(-1))


def constant(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Constant: an array of the npz, ``weights["name of the output"]``, at any size.

    Numbers that are no tensor (``value_float``, ``value_floats``) become float32, as ONNX has it, and whole ones int64.
    Strings and sparse values raise ``Unsupported``.
    """
    array = ctx.constant(node.outputs[0])
    if array is None:
        raise ctx.unsupported(node, f"no tensor in attributes {', '.join(node.attributes)}")
    if array.dtype == np.float64 and "value" not in node.attributes:
        array = array.astype(np.float32)
    key = ctx.store(node.outputs[0].name or "constant", ir.tensor(array))
    return f"weights[{literal(key)}]"


def constant_of_shape(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ConstantOfShape, from opset 9, of a shape that is known; else ``Unsupported`` is raised.

    ``ConstantOfShape(shape, value=[7])`` becomes ``np.full((2, 3), 7, "int64")``, an array and no layer; without
    ``value`` it is 0.0 in float32.
    """
    given = node.attributes.get("value")
    element = np.zeros(1, np.float32) if given is None else given.value.numpy().reshape(-1)
    dtype = ir.DataType.from_numpy(element.dtype)
    shape = shape_of(ctx, node, node.outputs[0])
    return ctx.call("np.full", shape, element[0].item(), Code(ctx.spell(dtype)))


def identity(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Identity: ``Identity(x)`` becomes ``x``. No layer is made, and both names hold the same tensor."""
    return str(ctx.input(node, 0))


def reshape(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Reshape, Squeeze and Unsqueeze, to sizes that are known.

    All of them become ``reshape(x, (2, 3))`` with the sizes of the result, which the program's inference has found,
    batch included; their other inputs are not read. ``Unsupported`` is raised if a size is not known.
    """
    return ctx.call("reshape", ctx.input(node, 0), shape_of(ctx, node, node.outputs[0]))


def flatten(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Flatten: ``keras.layers.Flatten(dtype="float32")(x)`` if all axes behind the first become one and ``x`` is
    floating, else ``reshape(x, (6, 4))``. Sizes have to be known.
    """
    shape = shape_of(ctx, node, node.inputs[0])
    if ctx.attr(node, "axis") in (1, 1 - len(shape)) and len(shape) > 1 and ctx.is_float(node.inputs[0]):
        return layer(ctx, node, "Flatten")
    return reshape(ctx, node)


def transpose(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Transpose: ``Transpose(x, perm=[0, 2, 1])`` becomes ``transpose(x, (0, 2, 1))``; without ``perm`` all axes are
    reversed. Sizes that are not known raise ``Unsupported``.
    """
    rank = len(shape_of(ctx, node, node.inputs[0]))
    return ctx.call("transpose", ctx.input(node, 0), ctx.attr(node, "perm") or tuple(reversed(range(rank))))


def trilu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Trilu, from opset 14, with a diagonal that is constant, 0 if it is absent.

    ``Trilu(x, k)`` becomes ``keras.ops.triu(x, 1)``, and with ``upper=0`` ``keras.ops.tril(x, 1)``. Booleans raise
    ``Unsupported``.
    """
    if not ctx.is_plain(node.inputs[0]):
        raise ctx.unsupported(node, "booleans")
    diagonal = _known(ctx, node, 1) or (0,)
    return ctx.call("keras.ops.triu" if ctx.attr(node, "upper") else "keras.ops.tril", ctx.input(node, 0), diagonal[0])


def depth_to_space(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """DepthToSpace, between two reshapes, of sizes that are known.

    ``DepthToSpace(x, blocksize=2)`` becomes ``reshape(transpose(reshape(x, split), order), shape)`` with the tuples of
    ``size_arithmetic``'s ``depth_steps``; before opset 11 there is no mode but DCR.
    """
    sizes = shape_of(ctx, node, node.inputs[0])
    split, order, shape = depth_steps(sizes, ctx.attr(node, "blocksize"), ctx.attr(node, "mode", "DCR"))
    moved = ctx.call("transpose", Code(ctx.call("reshape", ctx.input(node, 0), split)), order)
    return ctx.call("reshape", Code(moved), shape)


def concat(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Concat: ``Concat(a, b, axis=1)`` becomes ``concat([a, b], 1)``, which makes a layer if the batch stays what it
    is. Inputs that are absent are left out.
    """
    return ctx.call("concat", ctx.given(node), ctx.attr(node, "axis"))


def split(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Split, in parts whose sizes are known, whether by an attribute, an input or equal parts.

    ``a, b = Split(x, sizes, axis=1)`` becomes ``keras.ops.split(x, [2], axis=1)``: Keras takes the places between the
    parts. One part is ``x`` itself.
    """
    shape, axis = shape_of(ctx, node, node.inputs[0]), ctx.attr(node, "axis")
    sizes = [shape_of(ctx, node, value)[axis] for value in node.outputs]
    if sum(sizes) != shape[axis]:
        raise ctx.unsupported(node, "parts that are not the whole")
    places = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    if not places:
        return TupleExpression(f"({ctx.input(node, 0)},)", 1)
    return TupleExpression(ctx.call("keras.ops.split", ctx.input(node, 0), places, axis=axis), len(sizes))


def expand(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Expand, from opset 8: ``Expand(x, shape)`` becomes ``keras.ops.broadcast_to(x, (2, 3))`` with the sizes of the
    result, which have to be known; else ``Unsupported`` is raised.
    """
    return ctx.call("keras.ops.broadcast_to", ctx.input(node, 0), shape_of(ctx, node, node.outputs[0]))


def slice_(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Slice, spelled as Python does: ``Slice(x, starts, ends, axes)`` becomes ``x[:, 1:3]``.

    Positions are attributes before opset 10, then inputs, which have to be constant; negative and too great ones are
    replaced by what they mean in the known shape. A part without elements is ``0:0``.
    """
    if ctx.opset < 10:
        starts, ends, axes, steps = ctx.attr(node, "starts"), ctx.attr(node, "ends"), ctx.attr(node, "axes"), None
    else:
        starts, ends, axes, steps = (_known(ctx, node, place) for place in (1, 2, 3, 4))
    shape = shape_of(ctx, node, node.inputs[0])
    assert starts is not None
    assert ends is not None
    parts = [":"] * len(shape)
    for i, axis in enumerate(axes or range(len(starts))):
        size, step = shape[axis], 1 if steps is None else steps[i]
        parts[axis] = _part(slice_positions(size, starts[i], ends[i], step), step)
    # A slice that is no tuple is refused by Keras 3.15, unlike by numpy.
    return f"{ctx.input(node, 0)}[{', '.join(parts)}{',' * (len(parts) == 1)}]"


def _part(places: range, step: int) -> str:
    """A range of positions as Python's slice."""
    stop = "" if places.stop < 0 else str(places.stop)
    return f"{places.start}:{stop}" + (f":{step}" if step != 1 else "") if len(places) else "0:0"


def reduced(operation: str) -> Emitter:
    """An emitter of a reduction over axes that are known, of floating numbers.

    With ``reduced("sum")``, ``ReduceSum(x, axes, keepdims=0)`` becomes ``keras.ops.sum(x, axis=(1,), keepdims=False)``.
    No axes are all axes, or ``x`` itself with ``noop_with_empty_axes``. Integers, and axes of size 0, raise
    ``Unsupported``.

    Args:
        operation: name in ``keras.ops``.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        if not ctx.is_float(node.inputs[0]):
            raise ctx.unsupported(node, "Keras sums up integers in types of its own choice")
        shape = shape_of(ctx, node, node.inputs[0])
        axes = _known(ctx, node, 1) if len(node.inputs) > 1 else ctx.attr(node, "axes")
        if not axes and ctx.attr(node, "noop_with_empty_axes"):
            return str(ctx.input(node, 0))
        axes = tuple(sorted(a % len(shape) for a in axes)) if axes else tuple(range(len(shape)))
        if any(shape[a] == 0 for a in axes) or not axes:
            raise ctx.unsupported(node, "nothing to reduce")
        keep = bool(ctx.attr(node, "keepdims", 1))
        return ctx.call(f"keras.ops.{operation}", ctx.input(node, 0), axis=axes, keepdims=keep)

    return emit


def arg(operation: str) -> Emitter:
    """An emitter of ArgMax or ArgMin, which give the first of equals, of floating numbers.

    With ``arg("argmax")``, ``ArgMax(x, axis=1)`` becomes ``keras.ops.cast(keras.ops.argmax(keras.ops.add(x, 0.0),
    axis=1, keepdims=True), "int64")``. ``select_last_index`` and integers raise ``Unsupported``.

    Args:
        operation: name in ``keras.ops``.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        if not ctx.is_float(node.inputs[0]) or ctx.attr(node, "select_last_index"):
            raise ctx.unsupported(node, "integers, or the last of equals")
        keep = bool(ctx.attr(node, "keepdims"))
        # Keras puts a negative zero before a positive one; the sum has none.
        x = Code(ctx.call("keras.ops.add", ctx.input(node, 0), 0.0))
        found = ctx.call(f"keras.ops.{operation}", x, axis=ctx.attr(node, "axis"), keepdims=keep)
        return ctx.call("keras.ops.cast", Code(found), "int64")

    return emit


def einsum(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Einsum, from opset 12, on floating numbers: ``Einsum(a, b, equation="ij,jk->ik")`` becomes
    ``keras.ops.einsum("ij,jk->ik", a, b)``, blanks removed. An equation without its result raises ``Unsupported``.
    """
    if not all(ctx.is_float(v) for v in node.inputs):
        raise ctx.unsupported(node, "integers")
    equation = ctx.attr(node, "equation").replace(" ", "")
    if "->" not in equation:
        raise ctx.unsupported(node, "an equation without its result")
    return ctx.call("keras.ops.einsum", equation, *ctx.inputs(node))


def pad(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Pad: a ZeroPadding layer if it is one.

    ``Pad(x, pads)`` becomes ``zero_padding(x, ((1, 1), (1, 1)))`` for zeros around the inner axes of floats of rank 4
    or 5, else ``keras.ops.pad(x, pads, constant_values=2.0)``, or that with ``mode="reflect"``. Pads and value have to
    be constant; negative pads and other modes raise ``Unsupported``.
    """
    shape = shape_of(ctx, node, node.inputs[0])
    flat = ctx.attr(node, "pads") if ctx.opset < 11 else _known(ctx, node, 1)
    axes = _known(ctx, node, 3) if ctx.opset >= 18 else None
    mode = ctx.attr(node, "mode", "constant")
    if flat is None or min(flat, default=0) < 0 or mode not in ("constant", "reflect") or 0 in shape:
        raise ctx.unsupported(node, f"negative pads, a size of zero, or mode {mode}")
    pads = pad_amounts(len(shape), flat, axes)
    if mode == "reflect":
        if any(max(around) >= size for around, size in zip(pads, shape, strict=True)):
            raise ctx.unsupported(node, "more is reflected than there is")
        return ctx.call("keras.ops.pad", ctx.input(node, 0), tuple(pads), mode="reflect")
    given = ctx.input_value(node, 2) if ctx.opset >= 11 else None
    array = np.asarray(ctx.attr(node, "value", 0.0)) if ctx.opset < 11 else ctx.constant(given)
    if given is not None and array is None:
        raise ctx.unsupported(node, "a value that is computed")
    value = 0 if array is None else array.reshape(-1)[0].item()
    if not value and ctx.is_float(node.inputs[0]) and len(shape) in (4, 5) and pads[:2] == [(0, 0)] * 2:
        return ctx.call("zero_padding", ctx.input(node, 0), tuple(pads[2:]))
    if not ctx.is_plain(node.inputs[0]):
        raise ctx.unsupported(node, "booleans")
    return ctx.call("keras.ops.pad", ctx.input(node, 0), tuple(pads), constant_values=value)
