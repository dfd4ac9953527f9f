"""Expressions for casts, constants and copies."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, literal

LITERAL_ELEMENTS = 8
"""Larger constants go to the npz."""


def cast(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Cast to a type that the framework has: ``Cast(x, to=1)`` becomes ``cast(x, torch.float32)``, for example.

    A type that the framework cannot compute in raises ``Unsupported``; ``saturate`` and ``round_mode``, which are for
    floats of eight bits, are not read.
    """
    return ctx.call("cast", ctx.input(node, 0), ctx.spelled(node, ctx.attr(node, "to")))


def cast_like(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """CastLike, from opset 15: the type is read from the second input when the module runs.

    ``CastLike(x, like)`` becomes ``cast(x, like.dtype)``; ``saturate`` and ``round_mode`` are not read.
    """
    return ctx.call("cast", ctx.input(node, 0), Code(f"{ctx.input(node, 1)}.dtype"))


def identity(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Identity and OptionalGetElement: ``Identity(x)`` becomes ``x``.

    Nothing is copied: both names then hold the same tensor, sequence or ``None``, which an empty optional is.
    """
    return str(ctx.input(node, 0))


def constant(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Constant in any of its attributes: a literal if short, else an array of the npz.

    ``Constant(value_ints=[1, 2])`` becomes ``torch.tensor([1, 2], dtype=torch.int64)``, and a tensor of more than 8
    elements becomes ``weights["name of the output"]``. Lists of numbers are literals at any length. Without a dense
    value (``sparse_value``) it raises ``Unsupported``, and so do strings in a tensor that are not UTF-8.
    """
    for name in ("value_int", "value_ints"):
        if name in node.attributes:
            return _literal(ctx, np.asarray(ctx.attr(node, name), dtype=np.int64), ctx.spell(ir.DataType.INT64))
    for name in ("value_float", "value_floats"):
        if name in node.attributes:
            return _literal(ctx, np.asarray(ctx.attr(node, name), dtype=np.float64), ctx.spell(ir.DataType.FLOAT))
    for name in ("value_string", "value_strings"):
        if name in node.attributes:
            return _literal(ctx, np.asarray(ctx.attr(node, name), object), ctx.spelled(node, ir.DataType.STRING))
    tensor = node.attributes["value"].value if "value" in node.attributes else None
    if tensor is None:
        raise ctx.unsupported(node, f"no tensor in attributes {', '.join(node.attributes)}")
    dtype = ctx.spelled(node, tensor.dtype)
    if tensor.size <= LITERAL_ELEMENTS:
        array = tensor.numpy()
        return _literal(ctx, _texts(ctx, node, array) if tensor.dtype == ir.DataType.STRING else array, dtype)
    key = ctx.store(node.outputs[0].name or "constant", tensor)
    return f"weights[{literal(key)}]"


def _texts(ctx: EmitterContext, node: ir.Node, array: np.ndarray) -> np.ndarray:
    """Strings of a tensor, which onnx_ir keeps as bytes."""
    try:
        return np.array([bytes(element).decode() for element in array.flat], dtype=object).reshape(array.shape)
    except UnicodeDecodeError as error:
        raise ctx.unsupported(node, f"a string that is not UTF-8: {error.object!r}") from None


def _literal(ctx: EmitterContext, array: np.ndarray, dtype: str) -> str:
    plain = array.astype(np.float64) if array.dtype.kind not in "iubO" else array
    if plain.size == 0:
        return ctx.form("zeros", shape=literal(plain.shape), dtype=dtype)
    elements = plain.tolist()
    return ctx.form("tensor", value=literal(elements), dtype=dtype)


def constant_of_shape(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ConstantOfShape, from opset 9; zero in float32 unless ``value`` says otherwise.

    ``ConstantOfShape(shape)`` becomes ``torch.zeros((2, 3), dtype=torch.float32)`` if the shape is constant, with
    ``ints(shape)`` in its place if it is computed. With ``value`` it becomes ``filled((2, 3), torch.tensor(7,
    dtype=torch.int64))``.
    """
    shape = ctx.ints(node, 0)
    tensor = node.attributes["value"].value if "value" in node.attributes else None
    if tensor is None:
        return ctx.form("zeros", shape=literal(shape), dtype=ctx.spell(ir.DataType.FLOAT))
    element = _literal(ctx, tensor.numpy().reshape(()), ctx.spelled(node, tensor.dtype))
    return ctx.call("filled", shape, Code(element))
