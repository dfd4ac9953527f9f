"""Lowers nodes with weights or windows to calls that make Keras layers."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from irfuzz.export.keras.node_checks import float_data, held, one_type, shape_of, wanted
from irfuzz.export.keras.window_arguments import Window, window
from irfuzz.export.source.emitter_context import Code, Emitted, Emitter, EmitterContext, StatementBlock, TupleExpression

SPELLED = {
    ir.DataType.FLOAT: '"float32"',
    ir.DataType.DOUBLE: '"float64"',
    ir.DataType.INT32: '"int32"',
    ir.DataType.INT64: '"int64"',
    ir.DataType.BOOL: '"bool"',
}
"""Element types as Keras names them; half precision is left out, for layers round it where ONNX does not say so."""


def layer(ctx: EmitterContext, node: ir.Node, name: str, *args: Any, **options: Any) -> str:
    """What a layer of ``keras.layers``, in the element type of the node's first input, gives for that.

    ``layer(ctx, node, "ELU", 0.5)`` gives ``keras.layers.ELU(0.5, dtype="float32")(x)``.

    Args:
        ctx: of the program.
        node: whose first input the layer is called with; its type has to be known.
        name: of the layer.
        *args: of the layer's constructor.
        **options: the same, by name; those that are ``None`` are left out.
    """
    dtype = ctx.dtype(node.inputs[0])
    assert dtype is not None
    made = ctx.call(f"keras.layers.{name}", *args, **options, dtype=Code(SPELLED[dtype]))
    return f"{made}({ctx.input(node, 0)})"


def _first(node: ir.Node, expression: str) -> Emitted:
    """The first output, the only one that is read."""
    count = len(node.outputs)
    return expression if count == 1 else TupleExpression(f"({expression}{', None' * (count - 1)})", count)


# ---- windows --------------------------------------------------------------------------------


def _strides(found: Window) -> dict[str, Any]:
    return {
        "strides": found.strides if set(found.strides) != {1} else None,
        "dilations": found.dilations if set(found.dilations) != {1} else None,
    }


def conv(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Conv, grouped or with a group for each channel.

    ``Conv(x, w, b, strides=[2, 2])`` becomes ``conv(x, w, b, strides=(2, 2))``, and with one input channel in each
    group, 1 or 2 inner axes and equal strides ``depthwise_conv``. Weights have to be constant and sizes known; strides
    together with dilations raise ``Unsupported``.
    """
    float_data(ctx, node)
    kernel, _ = held(ctx, node, 1, 2)
    assert kernel is not None
    found = window(ctx, node, kernel.shape[2:])
    group = ctx.attr(node, "group")
    options = {**_strides(found), **found.padding()}
    alone = group > 1 and kernel.shape[1] == 1 and len(found.kernel) < 3
    if alone and len(set(found.strides)) == 1 and (set(found.strides) == {1} or set(found.dilations) == {1}):
        return ctx.call("depthwise_conv", *ctx.inputs(node), **options)
    if set(found.strides) != {1} and set(found.dilations) != {1}:
        raise ctx.unsupported(node, "Keras has no layer with strides and dilations")
    return ctx.call("conv", *ctx.inputs(node), groups=group if group > 1 else None, **options)


def conv_transpose(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ConvTranspose: the whole, of which the pads are cropped.

    ``ConvTranspose(x, w, pads=[1, 1])`` becomes ``conv_transpose(x, w, crops=((1, 1),))``; what is cropped at the end
    follows from the known size of the result. Groups, dilations, ``output_shape``, SAME pads and a result beyond the
    kernel's reach raise ``Unsupported``.
    """
    float_data(ctx, node)
    kernel, _ = held(ctx, node, 1, 2)
    assert kernel is not None
    rank = kernel.ndim - 2
    sizes, goal = shape_of(ctx, node, node.inputs[0])[2:], shape_of(ctx, node, node.outputs[0])[2:]
    strides = ctx.attr(node, "strides") or (1,) * rank
    if ctx.attr(node, "group") != 1 or set(ctx.attr(node, "dilations") or (1,)) != {1}:
        raise ctx.unsupported(node, "Keras transposes no convolutions with groups or dilations")
    if ctx.attr(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID") or ctx.attr(node, "output_shape"):
        raise ctx.unsupported(node, "pads that follow from the size of the output")
    if not 1 <= rank <= 3 or 0 in (*sizes, *goal, *kernel.shape):
        raise ctx.unsupported(node, "more than 3 inner axes, or a size of zero")
    flat = ctx.attr(node, "pads") or (0,) * (2 * rank)
    crops: list[tuple[int, int]] = []
    for axis in range(rank):
        size, stride = kernel.shape[2 + axis], strides[axis]
        whole = sizes[axis] * stride + max(size - stride, 0)
        before = flat[axis]
        after = whole - before - goal[axis]
        if before < 0 or after < 0:
            raise ctx.unsupported(node, "an output beyond what the kernel reaches")
        crops.append((before, after))
    return ctx.call(
        "conv_transpose",
        *ctx.inputs(node),
        strides=strides if set(strides) != {1} else None,
        crops=tuple(crops) if any(map(any, crops)) else None,
    )


def _pooled(ctx: EmitterContext, node: ir.Node) -> tuple[Window, tuple[int, ...]]:
    """The window, and by how much more the last one reaches beyond the end of each inner axis (``ceil_mode``)."""
    float_data(ctx, node)
    found = window(ctx, node, tuple(ctx.attr(node, "kernel_shape")))
    if set(found.dilations) != {1}:
        raise ctx.unsupported(node, "Keras has no pooling with dilations")
    sizes, goal = shape_of(ctx, node, node.inputs[0])[2:], shape_of(ctx, node, node.outputs[0])[2:]
    beyond = tuple(
        (goal[i] - 1) * found.strides[i] + found.reach(i) - sizes[i] - sum(found.pads[i])
        for i in range(len(found.kernel))
    )
    if min(goal) < 1:
        raise ctx.unsupported(node, "a size of zero")
    if any((n - 1) * s >= size + a for n, s, size, (a, _) in zip(goal, found.strides, sizes, found.pads, strict=True)):
        raise ctx.unsupported(node, "a last window that starts behind the input, which ONNX's versions count or not")
    return found, tuple(max(n, 0) for n in beyond)


def max_pool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MaxPool without Indices: ``MaxPool(x, kernel_shape=[2], strides=[2])`` becomes ``max_pool(x, (2,),
    strides=(2,))``.

    Pads follow as ``padding="same"`` or ``pads``; with ``ceil_mode`` they are enlarged at the end. Dilations, and
    Indices that somebody reads, raise ``Unsupported``.
    """
    if len(wanted(node)) > 1:
        raise ctx.unsupported(node, "Keras gives no indices")
    found, beyond = _pooled(ctx, node)
    pads = tuple((before, after + more) for (before, after), more in zip(found.pads, beyond, strict=True))
    if not any(beyond):
        options = found.padding()
    else:
        options = {"pads": pads}
    return _first(node, ctx.call("max_pool", ctx.input(node, 0), found.kernel, strides=found.strides, **options))


def average_pool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """AveragePool, if what stands around counts or is what Keras leaves out.

    ``AveragePool(x, kernel_shape=[2])`` becomes ``average_pool(x, (2,), strides=(1,))``. With ``count_include_pad`` the
    pads are zeros around the input; without it they have to be those of ``padding="same"``. Windows that reach beyond
    the end raise ``Unsupported``.
    """
    found, beyond = _pooled(ctx, node)
    if any(beyond):
        raise ctx.unsupported(node, "Keras has no average of a window that reaches beyond the end")
    options = found.padding()
    if options:
        if ctx.attr(node, "count_include_pad"):
            options = {"pads": found.pads}
        elif not found.same:
            raise ctx.unsupported(node, "Keras leaves out of an average only what padding='same' puts around")
    return ctx.call("average_pool", ctx.input(node, 0), found.kernel, strides=found.strides, **options)


def global_pool(function: str) -> Emitter:
    """An emitter of GlobalAveragePool or GlobalMaxPool.

    With ``global_pool("global_max_pool")``, ``GlobalMaxPool(x)`` becomes ``global_max_pool(x)``. Other than 1 to 3
    inner axes, and sizes that are 0 or not known, raise ``Unsupported``.

    Args:
        function: support function that makes the layer.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        float_data(ctx, node)
        shape = shape_of(ctx, node, node.inputs[0])
        if not 3 <= len(shape) <= 5 or 0 in shape:
            raise ctx.unsupported(node, "Keras pools 1 to 3 inner axes, none of them empty")
        return ctx.call(function, ctx.input(node, 0))

    return emit


def resize(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Resize, from opset 11, by whole factors, to the nearest; or of images, linearly between the middles of pixels.

    ``Resize(x, "", scales)`` becomes ``up_sampling(x, (2, 2))``, and in mode ``linear`` ``up_sampling(x, (2, 2),
    "bilinear")``. The factors are those of the known sizes of input and result; whatever is not such an enlargement of
    1 to 3 inner axes raises ``Unsupported``.
    """
    float_data(ctx, node)
    shape, goal = shape_of(ctx, node, node.inputs[0]), shape_of(ctx, node, node.outputs[0])
    where, mode = ctx.attr(node, "coordinate_transformation_mode", "half_pixel"), ctx.attr(node, "mode")
    if ctx.opset < 11 or not 3 <= len(shape) <= 5 or 0 in shape or shape[:2] != goal[:2]:
        raise ctx.unsupported(node, "Keras enlarges 1 to 3 inner axes")
    if any(n % m for n, m in zip(goal, shape, strict=True)) or ctx.input_value(node, 1) is not None:
        raise ctx.unsupported(node, "Keras enlarges by whole factors")
    if ctx.attr(node, "antialias") or ctx.attr(node, "axes") or ctx.attr(node, "exclude_outside"):
        raise ctx.unsupported(node, "antialias, axes or exclude_outside")
    (scales,) = held(ctx, node, 2)
    size = tuple(n // m for n, m in zip(goal[2:], shape[2:], strict=True))
    if scales is not None and scales.size and tuple(scales) != (1, 1, *size):
        raise ctx.unsupported(node, "scales that are no whole numbers")
    rule = ctx.attr(node, "nearest_mode", "round_prefer_floor")
    near = (where == "half_pixel" and rule.startswith("round")) or (where == "asymmetric" and rule == "floor")
    if mode == "nearest" and near:
        return ctx.call("up_sampling", ctx.input(node, 0), size)
    if mode == "linear" and where == "half_pixel" and len(shape) == 4:
        return ctx.call("up_sampling", ctx.input(node, 0), size, "bilinear")
    raise ctx.unsupported(node, f"Keras has no layer for {mode} with {where}")


# ---- weights --------------------------------------------------------------------------------


def _is_dense(ctx: EmitterContext, node: ir.Node) -> bool:
    """A product with a matrix that a Dense layer can hold."""
    if node.op_type != "MatMul" or node.domain or not ctx.is_float(node.inputs[0]):
        return False
    kernel = ctx.constant(node.inputs[1])
    value = node.inputs[0]
    shape = None if value is None else ctx.shape(value)
    return kernel is not None and kernel.ndim == 2 and 0 not in kernel.shape and shape is not None and len(shape) > 1


def biased(ctx: EmitterContext, node: ir.Node) -> ir.Node | None:
    """The Add of a bias behind a product, if nothing else reads the product.

    Args:
        ctx: of the program.
        node: any node; only a MatMul of floats with a constant matrix can have such an Add.

    Returns:
        The Add, if its other operand is a constant vector with an element for each column; else ``None``.
    """
    if not _is_dense(ctx, node) or node.outputs[0].is_graph_output():
        return None
    uses = list(node.outputs[0].uses())
    if len(uses) != 1 or uses[0][0].op_type != "Add" or uses[0][0].domain:
        return None
    user, place = uses[0]
    bias, kernel = ctx.constant(user.inputs[1 - place]), ctx.constant(node.inputs[1])
    assert kernel is not None
    return user if bias is not None and bias.shape == (kernel.shape[1],) else None


def dense(ctx: EmitterContext, node: ir.Node, bias: Code | None) -> str:
    """The layer of a product, with the bias that is added to it: ``dense(x, w, b)``, or ``dense(x, w)`` without one.

    Args:
        ctx: of the program.
        node: the MatMul, whose two inputs are the data and the matrix [in, out].
        bias: identifier of a vector [out]; ``None`` for none.
    """
    return ctx.call("dense", ctx.input(node, 0), ctx.input(node, 1), bias)


def matmul(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MatMul: a Dense layer if the matrix is constant, which holds the bias that follows, too.

    ``MatMul(x, w)`` becomes ``dense(x, w)`` if ``w`` is a constant matrix and ``x`` has a known rank above 1, else
    ``keras.ops.matmul(x, w)``. If a bias is added to the product, nothing is emitted here, but all of it at the Add.
    """
    float_data(ctx, node)
    if biased(ctx, node) is not None:
        return StatementBlock(())
    if _is_dense(ctx, node):
        return dense(ctx, node, None)
    return ctx.call("keras.ops.matmul", *ctx.inputs(node))


def gemm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Gemm: a Dense layer if the matrix is constant and nothing is scaled.

    ``Gemm(a, b, c)`` becomes ``dense(a, b, c)``. Other factors multiply ``dense(a, b)`` or ``c`` by
    ``keras.ops.multiply``, and a bias that is computed or of another shape than (n,) or (1, n) follows by
    ``keras.ops.add``; a matrix that is computed makes the product ``keras.ops.matmul``. Types that are not floating
    raise ``Unsupported``.
    """
    float_data(ctx, node)
    a, b, c = (ctx.input(node, place) for place in range(3))
    if ctx.attr(node, "transA"):
        a = Code(f"keras.ops.transpose({a})")
    alpha, beta = float(ctx.attr(node, "alpha")), float(ctx.attr(node, "beta"))
    kernel, bias = ctx.constant(node.inputs[1]), ctx.constant(ctx.input_value(node, 2))
    if ctx.attr(node, "transB"):
        b = Code(f"{b}.T" if kernel is not None else f"keras.ops.transpose({b})")
    if kernel is None or 0 in kernel.shape:
        product = ctx.call("keras.ops.matmul", a, b)
    elif alpha == beta == 1 and bias is not None and bias.shape in ((n := kernel.shape[_units(ctx, node)],), (1, n)):
        return ctx.call("dense", a, b, c)
    else:
        product = ctx.call("dense", a, b)
    if alpha != 1:
        product = ctx.call("keras.ops.multiply", Code(product), alpha)
    if c is None:
        return product
    scaled = c if beta == 1 else Code(ctx.call("keras.ops.multiply", c, beta))
    return ctx.call("keras.ops.add", Code(product), scaled)


def _units(ctx: EmitterContext, node: ir.Node) -> int:
    return 0 if ctx.attr(node, "transB") else 1


def gather(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Gather: an Embedding layer if it takes rows of a constant table.

    ``Gather(table, index)`` becomes ``embedding(index, table)`` if the table is a constant matrix of floats and the
    index is computed, else ``keras.ops.take(table, index, axis=0)``.
    """
    table, axis = ctx.constant(node.inputs[0]), ctx.attr(node, "axis")
    rows = table is not None and table.ndim == 2 and axis in (0, -2) and 0 not in table.shape
    if rows and ctx.constant(node.inputs[1]) is None and ctx.is_float(node.inputs[0]):
        return ctx.call("embedding", ctx.input(node, 1), ctx.input(node, 0))
    return ctx.call("keras.ops.take", *ctx.inputs(node), axis=axis)


def dropout(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Dropout that drops nothing, as in a model that is used.

    ``Dropout(x)`` becomes ``keras.layers.Dropout(0.5, dtype="float32")(x)``. A mask that somebody reads, training, a
    ratio that is computed, and one outside [0, 1) raise ``Unsupported``.
    """
    float_data(ctx, node)
    if len(wanted(node)) > 1:
        raise ctx.unsupported(node, "Keras gives no mask")
    if ctx.opset < 12:
        ratio = ctx.attr(node, "ratio")
    else:
        share, training = held(ctx, node, 1, 2)
        if training is not None and training.any():
            raise ctx.unsupported(node, "training")
        ratio = 0.5 if share is None else share.reshape(-1)[0].item()
    if not 0 <= ratio < 1:
        raise ctx.unsupported(node, f"Keras takes a ratio from 0 to 1, not {ratio}")
    return _first(node, layer(ctx, node, "Dropout", float(ratio)))


# ---- normalisations -------------------------------------------------------------------------


def batch_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BatchNormalization with given statistics, from opset 9.

    It becomes ``batch_norm(x, scale, b, mean, var, epsilon=...)``, a layer that holds all four, so that they have to be
    constant. Training, further outputs in use and inputs of different types raise ``Unsupported``.
    """
    float_data(ctx, node)
    training = ctx.opset >= 14 and ctx.attr(node, "training_mode")
    if training or ctx.opset < 9 or len(wanted(node)) > 1:
        raise ctx.unsupported(node, "training, or an opset before 9")
    one_type(ctx, node)
    held(ctx, node, 1, 2, 3, 4)
    return _first(node, ctx.call("batch_norm", *ctx.inputs(node), epsilon=float(ctx.attr(node, "epsilon"))))


def layer_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """LayerNormalization, from opset 17, without its optional outputs, in float32.

    It becomes ``layer_norm(x, scale, b, axes=(1, 2), epsilon=...)``. Scale and bias have to be constant and of the
    shape that is normalised, which must not begin at the first axis; all else raises ``Unsupported``.
    """
    float_data(ctx, node)
    one_type(ctx, node)
    if len(wanted(node)) > 1:
        raise ctx.unsupported(node, "Keras gives no mean and no deviation")
    shape = shape_of(ctx, node, node.inputs[0])
    axis = ctx.attr(node, "axis") % len(shape)
    scale, bias = held(ctx, node, 1, 2)
    if not axis or any(a is not None and a.shape != shape[axis:] for a in (scale, bias)) or 0 in shape:
        raise ctx.unsupported(node, "the first axis, or a scale or bias of another shape than what is normalised")
    if ctx.dtype(node.inputs[0]) != ir.DataType.FLOAT or ctx.attr(node, "stash_type") != 1:
        raise ctx.unsupported(node, "another element type than float32")
    axes = tuple(range(axis, len(shape)))
    call = ctx.call("layer_norm", *ctx.inputs(node), axes=axes, epsilon=float(ctx.attr(node, "epsilon")))
    return _first(node, call)


def instance_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """InstanceNormalization: a group for each channel. It becomes ``group_norm(x, scale, b, groups=3, epsilon=...)``;
    other types than float32, and a scale or bias that is computed, raise ``Unsupported``.
    """
    return _groups(ctx, node, None)


def group_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """GroupNormalization with a scale for each channel (from opset 21; older ones raise ``Unsupported``).

    It becomes ``group_norm(x, scale, b, groups=2, epsilon=...)``; other types than float32, and a scale or bias that is
    computed, raise ``Unsupported``.
    """
    if ctx.opset < 21:
        raise ctx.unsupported(node, "before opset 21 a scale belonged to a group")
    return _groups(ctx, node, ctx.attr(node, "num_groups"))


def _groups(ctx: EmitterContext, node: ir.Node, groups: int | None) -> Emitted:
    float_data(ctx, node)
    one_type(ctx, node)
    held(ctx, node, 1, 2)
    shape = shape_of(ctx, node, node.inputs[0])
    if len(shape) < 3 or 0 in shape or ctx.dtype(node.inputs[0]) != ir.DataType.FLOAT:
        raise ctx.unsupported(node, "no inner axis, a size of zero, or another element type than float32")
    return ctx.call(
        "group_norm", *ctx.inputs(node), groups=groups or shape[1], epsilon=float(ctx.attr(node, "epsilon"))
    )


def prelu(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """PRelu with a slope that is one for all of the batch: ``PRelu(x, slope)`` becomes ``prelu(x, slope)``.

    The slope has to be constant; one that has elements for the batch, or that makes the result larger than ``x``,
    raises ``Unsupported``.
    """
    float_data(ctx, node)
    (slope,) = held(ctx, node, 1)
    assert slope is not None
    shape = shape_of(ctx, node, node.inputs[0])
    whole = (1,) * (len(shape) - slope.ndim) + slope.shape
    if len(shape) < 2 or len(whole) != len(shape) or whole[0] != 1 or 0 in shape:
        raise ctx.unsupported(node, "a slope for each element of the batch")
    if any(m not in (1, n) for m, n in zip(whole[1:], shape[1:], strict=True)):
        raise ctx.unsupported(node, "a slope that makes the result larger")
    return ctx.call("prelu", *ctx.inputs(node))
