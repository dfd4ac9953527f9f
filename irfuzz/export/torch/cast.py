"""Casts, constants and copies enter, expressions leave."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.export.torch.context import Code, Context, Emitted, literal

LITERAL_ELEMENTS = 8
"""Larger constants go to the npz."""


def cast(ctx: Context, node: ir.Node) -> Emitted:
    """Cast to a type that torch has."""
    return ctx.call("cast", ctx.input(node, 0), ctx.torch_dtype(node, ctx.attr(node, "to")))


def cast_like(ctx: Context, node: ir.Node) -> Emitted:
    """CastLike: the type is read from the second input."""
    return ctx.call("cast", ctx.input(node, 0), Code(f"{ctx.input(node, 1)}.dtype"))


def identity(ctx: Context, node: ir.Node) -> Emitted:
    """Identity."""
    return str(ctx.input(node, 0))


def constant(ctx: Context, node: ir.Node) -> Emitted:
    """Constant in any of its attributes: a literal where short, else an array of the npz."""
    for name in ("value_int", "value_ints"):
        if name in node.attributes:
            return _literal(np.asarray(ctx.attr(node, name), dtype=np.int64), "torch.int64")
    for name in ("value_float", "value_floats"):
        if name in node.attributes:
            return _literal(np.asarray(ctx.attr(node, name), dtype=np.float64), "torch.float32")
    tensor = node.attributes["value"].value if "value" in node.attributes else None
    if tensor is None:
        raise ctx.unsupported(node, f"no tensor in attributes {', '.join(node.attributes)}")
    dtype = ctx.torch_dtype(node, tensor.dtype)
    if tensor.size <= LITERAL_ELEMENTS:
        return _literal(tensor.numpy(), dtype)
    key = ctx.store(node.outputs[0].name or "constant", tensor)
    return f"weights[{literal(key)}]"


def _literal(array: np.ndarray, dtype: str) -> str:
    plain = array.astype(np.float64) if array.dtype.kind not in "iub" else array
    if plain.size == 0:
        return f"torch.zeros({literal(plain.shape)}, dtype={dtype})"
    elements = plain.tolist()
    return f"torch.tensor({literal(elements)}, dtype={dtype})"


def constant_of_shape(ctx: Context, node: ir.Node) -> Emitted:
    """ConstantOfShape; zero in float32 unless told."""
    shape = ctx.ints(node, 0)
    tensor = node.attributes["value"].value if "value" in node.attributes else None
    if tensor is None:
        return f"torch.zeros({literal(shape)}, dtype=torch.float32)"
    element = _literal(tensor.numpy().reshape(()), ctx.torch_dtype(node, tensor.dtype))
    return ctx.call("filled", shape, Code(element))
