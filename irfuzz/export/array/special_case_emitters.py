"""Nodes that are more than one call with their attributes: constants, what has optional results, what copies."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.array.generic_call_emitters import attributes, keywords
from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, TupleExpression, literal

SHORT = 8
"""Larger constants go to the npz."""

_KINDS = {"value_int": ir.DataType.INT64, "value_float": ir.DataType.FLOAT, "value_string": ir.DataType.STRING}
"""Attributes of Constant that are no tensors, and their plurals."""


def constant(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Constant in any of its attributes but ``sparse_value``, which raises ``Unsupported``.

    ``Constant(value_ints=[1, 2])`` becomes ``np.array((1, 2), np.int64)``, and a tensor of at most 8 elements becomes
    such a literal, too. A larger tensor is stored in the npz: ``weights["name of the output"]``.
    """
    (name, value), *more = attributes(ctx, node).items()
    kind = _KINDS.get(name.removesuffix("s"))
    if more or (name != "value" and kind is None):
        raise ctx.unsupported(node, f"no tensor in attributes {', '.join(node.attributes)}")
    if kind is not None:
        return f"np.array({literal(value)}, {ctx.spelled(node, kind)})"
    if value.size > SHORT:
        return f"weights[{literal(ctx.store(node.outputs[0].name or 'constant', value))}]"
    return _spelled(ctx, node, value)


def constant_of_shape(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ConstantOfShape, from opset 9; zero in float32 unless ``value`` says otherwise.

    ``ConstantOfShape(shape, value=[2.0])`` becomes ``constant_of_shape(shape, np.array([2.0], np.float32))``; without
    ``value`` the element is ``np.zeros((), np.float32)``.
    """
    value = attributes(ctx, node).get("value")
    element = f"np.zeros((), {ctx.spell(ir.DataType.FLOAT)})" if value is None else _spelled(ctx, node, value)
    return ctx.call("constant_of_shape", ctx.input(node, 0), Code(element))


def _spelled(ctx: EmitterContext, node: ir.Node, tensor: ir.TensorProtocol) -> str:
    """A tensor as a literal; one without elements by its shape."""
    dtype, array = ctx.spelled(node, tensor.dtype), tensor.numpy()
    if not array.size:
        return f"np.zeros({literal(array.shape)}, {dtype})"
    exact = array.tolist() if array.dtype.kind in "iub" else array.astype(float).tolist()
    return f"np.array({literal(exact)}, {dtype})"


def copy(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Identity, Optional and OptionalGetElement: ``Identity(x)`` becomes ``x``.

    No array is copied: both names then hold the same one. An Optional without an input becomes ``None``.
    """
    return str(ctx.input(node, 0))


def cast_like(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """CastLike, from opset 15: the type is read from the second input when the module runs.

    ``CastLike(x, like)`` becomes ``cast(x, like.dtype)``; attributes such as ``saturate`` are not read.
    """
    return ctx.call("cast", ctx.input(node, 0), Code(f"{ctx.input(node, 1)}.dtype"))


def max_pool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MaxPool, with Indices if the node has a second output.

    ``MaxPool(x, kernel_shape=[2])`` becomes ``max_pool(x, kernel_shape=(2,))``; with Indices it is ``max_pool_indices``
    and gives two values. Only the latter gets ``storage_order``, which changes nothing but the indices.
    """
    if len(node.outputs) > 1:
        return TupleExpression(
            ctx.call("max_pool_indices", ctx.input(node, 0), **keywords(ctx, node, "max_pool_indices")), 2
        )
    return ctx.call("max_pool", ctx.input(node, 0), **keywords(ctx, node, "max_pool", ("storage_order",)))


def batch_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BatchNormalization, in inference or in training.

    ``BatchNormalization(x, scale, b, mean, var)`` becomes ``batch_norm(x, scale, b, mean, var)``. With
    ``training_mode``, which exists from opset 14, it is ``batch_norm_training`` and gives three values: the result and
    the running mean and variance. What older opsets leave open is refused before (``unsupported_cases.batch_norm``).
    """
    inputs, flags = ctx.inputs(node), ("training_mode", "is_test", "spatial")
    if attributes(ctx, node).get("training_mode"):
        return TupleExpression(
            ctx.call("batch_norm_training", *inputs, **keywords(ctx, node, "batch_norm_training", flags)), 3
        )
    return ctx.call("batch_norm", *inputs, **keywords(ctx, node, "batch_norm", (*flags, "momentum")))


def concat(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Concat: ``Concat(a, b, axis=1)`` becomes ``np.concatenate([a, b], 1)``.

    Inputs that are absent are left out; numpy itself takes a negative axis and refuses shapes that do not match.
    """
    return f"np.concatenate([{', '.join(ctx.given(node))}], {attributes(ctx, node)['axis']})"


def split(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Split: how many parts there are, its outputs say, and so ``num_outputs`` (opset 18) is not read.

    ``a, b = Split(x, sizes, axis=1)`` becomes ``split(2, x, sizes, axis=1)``. Before opset 13 the sizes are an
    attribute, which is passed by the name ``split``.
    """
    count = len(node.outputs)
    given = keywords(ctx, node, "split", ("num_outputs",))
    return TupleExpression(ctx.call("split", count, *ctx.inputs(node), **given), count)


def sequence_construct(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceConstruct and SequenceEmpty, both from opset 11: sequences are lists.

    ``SequenceConstruct(a, b)`` becomes ``[a, b]``, and SequenceEmpty becomes ``[]``, which does not remember the
    element type of its attribute ``dtype``.
    """
    return f"[{', '.join(ctx.given(node))}]"


def optional_has_element(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """OptionalHasElement, from opset 15: ``OptionalHasElement(x)`` becomes ``np.array(x is not None)``, a boolean
    scalar.

    An empty optional is ``None``, and an input that is absent (opset 18 allows this) reads as one.
    """
    return f"np.array({ctx.input(node, 0)} is not None)"
