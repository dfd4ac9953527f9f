"""Expressions for matrix product nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Emitted, EmitterContext


def matmul(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """MatMul; the framework's own if no widening is needed.

    ``MatMul(a, b)`` becomes ``a @ b`` in PyTorch if ``a`` is float32 or float64. For other types it is the support
    function ``matmul(a, b)``, which computes halves in float32 and lets integers wrap.
    """
    a, b = ctx.input(node, 0), ctx.input(node, 1)
    if ctx.dtype(node.inputs[0]) in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
        return ctx.form("matmul", a=a, b=b)
    return ctx.call("matmul", a, b)


def gemm(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Gemm; on integers alpha and beta must be 1, for ONNX does not say how else to round.

    ``Gemm(a, b, c, transB=1)`` becomes ``gemm(a, b, c, trans_b=1)``; what is at its default is left out. Integers with
    other factors raise ``Unsupported``.
    """
    alpha, beta = ctx.attr(node, "alpha"), ctx.attr(node, "beta")
    dtype = ctx.dtype(node.inputs[0])
    if dtype is not None and not ctx.is_float(node.inputs[0]) and (alpha != 1.0 or beta != 1.0):
        raise ctx.unsupported(node, f"alpha = {alpha}, beta = {beta} on {dtype.name}")
    return ctx.call(
        "gemm",
        *ctx.inputs(node),
        alpha=alpha if alpha != 1.0 else None,
        beta=beta if beta != 1.0 else None,
        trans_a=ctx.attr(node, "transA") or None,
        trans_b=ctx.attr(node, "transB") or None,
    )


def einsum(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Einsum, from opset 12: ``Einsum(a, b, equation="ij,jk->ik")`` becomes ``einsum("ij,jk->ik", a, b)``. The equation
    is passed as it is, with blanks and with or without a result.
    """
    return ctx.call("einsum", ctx.attr(node, "equation"), *ctx.given(node))
