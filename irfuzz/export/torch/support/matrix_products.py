# pyright: basic
"""Matrix products."""

from __future__ import annotations

import torch

from irfuzz.export.torch.support.dtype_conversions import bits, exact_int, single, unbits


def matmul(a, b):
    """ONNX MatMul; half types are computed in float32, integers wrap."""
    if a.dtype.is_floating_point:
        return torch.matmul(single(a), single(b)).to(a.dtype)
    return unbits(torch.matmul(bits(a), bits(b)), a.dtype)


def gemm(a, b, c=None, alpha=1.0, beta=1.0, trans_a=0, trans_b=0):
    """ONNX Gemm: alpha * A' @ B' + beta * C. Integers need alpha and beta of 1."""
    left = single(a) if a.dtype.is_floating_point else bits(a)
    right = single(b) if b.dtype.is_floating_point else bits(b)
    result = (left.T if trans_a else left) @ (right.T if trans_b else right)
    if alpha != 1.0:
        result = alpha * result
    if c is not None:
        addend = single(c) if c.dtype.is_floating_point else bits(c)
        result = result + (addend if beta == 1.0 else beta * addend)
    return result.to(a.dtype) if a.dtype.is_floating_point else unbits(result, a.dtype)


def einsum(equation, *xs):
    """ONNX Einsum; half types are computed in float32, integers wrap."""
    if xs[0].dtype.is_floating_point:
        return torch.einsum(equation, *[single(x) for x in xs]).to(xs[0].dtype)
    return torch.einsum(equation, *[exact_int(x) for x in xs]).to(xs[0].dtype)


def det(x):
    """ONNX Det."""
    return torch.linalg.det(single(x)).to(x.dtype)
