# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Matrix products."""

from __future__ import annotations

import tensorflow as tf

from irfuzz.export.tensorflow.support.dtype_conversions import exact_int, single


def widened(x):
    """What products are computed in: half types in float32, integers in int64, which wraps."""
    return single(x) if x.dtype.is_floating else exact_int(x)


def matmul(a, b):
    """ONNX MatMul; half types are computed in float32, integers wrap."""
    return tf.cast(product(widened(a), widened(b)), a.dtype)


def product(a, b):
    """The matrix product with numpy's rules for vectors, which TensorFlow's own does not take."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    result = tf.matmul(tf.expand_dims(a, 0) if row else a, tf.expand_dims(b, 1) if column else b)
    if column:
        result = tf.squeeze(result, -1)
    return tf.squeeze(result, -1 if column else -2) if row else result


def gemm(a, b, c=None, alpha=1.0, beta=1.0, trans_a=0, trans_b=0):
    """ONNX Gemm: alpha * A' @ B' + beta * C. Integers need alpha and beta of 1."""
    result = tf.matmul(widened(a), widened(b), transpose_a=bool(trans_a), transpose_b=bool(trans_b))
    if alpha != 1.0:
        result = alpha * result
    if c is not None:
        addend = widened(c)
        result = result + (addend if beta == 1.0 else beta * addend)
    return tf.cast(result, a.dtype)


def einsum(equation, *xs):
    """ONNX Einsum; integers wrap.

    TensorFlow 2.21 refuses "i...,j..." unless the output is written out: what "..." stands for, then the letters that
    occur once, in alphabetical order (Einsum-12).
    """
    equation = equation.replace(" ", "")
    if "->" not in equation:
        once = sorted(c for c in set(equation) if c.isalpha() and equation.count(c) == 1)
        equation += "->" + "..." * ("..." in equation) + "".join(once)
    return tf.cast(tf.einsum(equation, *[widened(x) for x in xs]), xs[0].dtype)


def det(x):
    """ONNX Det."""
    return tf.cast(tf.linalg.det(single(x)), x.dtype)
