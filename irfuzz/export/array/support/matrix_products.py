# pyright: basic
"""Products of matrices; floats are multiplied in float64."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, wide


def matmul(a, b):
    """ONNX MatMul; integers wrap."""
    return cast(np.matmul(wide(a), wide(b)), a.dtype)


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    """ONNX Gemm: alpha * A' @ B' + beta * C. Integers need alpha and beta of 1."""
    result = np.matmul(wide(a).T if transA else wide(a), wide(b).T if transB else wide(b))
    result = result if alpha == 1.0 else alpha * result
    if c is not None:
        result = result + (wide(c) if beta == 1.0 else beta * wide(c))
    return cast(result, a.dtype)


def einsum(*xs, equation):
    """ONNX Einsum; integers wrap."""
    return cast(np.einsum(equation.replace(" ", ""), *[wide(x) for x in xs]), xs[0].dtype)


def det(x):
    """ONNX Det."""
    return cast(np.linalg.det(wide(x)), x.dtype)
