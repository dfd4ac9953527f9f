"""Nodes that are more than one call with their attributes: constants, what has optional results, what copies."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.array.node_reading import attributes, keywords
from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, TupleExpression, literal

SHORT = 8
"""Larger constants go to the npz."""

_KINDS = {"value_int": ir.DataType.INT64, "value_float": ir.DataType.FLOAT, "value_string": ir.DataType.STRING}
"""Attributes of Constant that are no tensors, and their plurals."""


def constant(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Constant in any of its attributes."""
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
    """ConstantOfShape; zero in float32 unless told."""
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
    """Identity and its kin."""
    return str(ctx.input(node, 0))


def cast_like(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """CastLike: the type is read from the second input."""
    return ctx.call("cast", ctx.input(node, 0), Code(f"{ctx.input(node, 1)}.dtype"))


def max_pool(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MaxPool, with Indices if they are asked for."""
    if len(node.outputs) > 1:
        return TupleExpression(
            ctx.call("max_pool_indices", ctx.input(node, 0), **keywords(ctx, node, "max_pool_indices")), 2
        )
    return ctx.call("max_pool", ctx.input(node, 0), **keywords(ctx, node, "max_pool", ("storage_order",)))


def batch_norm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """BatchNormalization, in inference or in training."""
    inputs, flags = ctx.inputs(node), ("training_mode", "is_test", "spatial")
    if attributes(ctx, node).get("training_mode"):
        return TupleExpression(
            ctx.call("batch_norm_training", *inputs, **keywords(ctx, node, "batch_norm_training", flags)), 3
        )
    return ctx.call("batch_norm", *inputs, **keywords(ctx, node, "batch_norm", (*flags, "momentum")))


def concat(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Concat."""
    return f"np.concatenate([{', '.join(ctx.given(node))}], {attributes(ctx, node)['axis']})"


def split(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Split: how many parts there are, its outputs say."""
    count = len(node.outputs)
    given = keywords(ctx, node, "split", ("num_outputs",))
    return TupleExpression(ctx.call("split", count, *ctx.inputs(node), **given), count)


def sequence_construct(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceConstruct, and SequenceEmpty."""
    return f"[{', '.join(ctx.given(node))}]"


def optional_has_element(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """OptionalHasElement."""
    return f"np.array({ctx.input(node, 0)} is not None)"
