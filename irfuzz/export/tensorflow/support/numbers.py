# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Exact wider or reinterpreted forms of element types that TensorFlow lacks some kernels for."""

from __future__ import annotations

import tensorflow as tf

SIGNED = {tf.uint16: tf.int16, tf.uint32: tf.int32, tf.uint64: tf.int64}
UNSIGNED = (tf.uint8, tf.uint16, tf.uint32, tf.uint64)
INT64_MIN = -(2**63)


def bits(x):
    """``x``, or uint16/32/64 seen as the signed type of that width: moves and wrapping +, -, * have the same bits."""
    return tf.bitcast(x, SIGNED[x.dtype]) if x.dtype in SIGNED else x


def unbits(x, dtype):
    """Undo ``bits``."""
    return tf.bitcast(x, dtype) if dtype in SIGNED else x


def ordered(x):
    """Numbers in the same order as ``x``, of a type that every comparing kernel takes; uint64 is shifted by 2**63."""
    if x.dtype == tf.uint64:
        return tf.bitwise.bitwise_xor(tf.bitcast(x, tf.int64), tf.constant(INT64_MIN, tf.int64))
    if x.dtype == tf.uint32:
        return tf.cast(x, tf.int64)
    return tf.cast(x, tf.int32) if x.dtype in (tf.uint16, tf.bool) else x


def unordered(x, dtype):
    """Undo ``ordered``."""
    if dtype == tf.uint64:
        return tf.bitcast(tf.bitwise.bitwise_xor(x, tf.constant(INT64_MIN, tf.int64)), tf.uint64)
    return tf.cast(x, dtype)


def single(x):
    """``x``, or float16 and bfloat16 as float32."""
    return tf.cast(x, tf.float32) if x.dtype in (tf.float16, tf.bfloat16) else x


def exact_int(x):
    """An integer tensor as int64, modulo 2**64."""
    return tf.bitcast(x, tf.int64) if x.dtype == tf.uint64 else tf.cast(x, tf.int64)


def lowest(dtype):
    """The least value of a type, -inf for floats."""
    if dtype == tf.bool:
        return False
    return -float("inf") if dtype.is_floating else dtype.min


def divide_int(a, b):
    """Integer quotient rounded toward zero, wrapping (ONNX Div on integers)."""
    if a.dtype in UNSIGNED:
        return tf.truncatediv(a, b)
    # The least number divided by -1 is a trap of the processor.
    minus = tf.equal(b, tf.constant(-1, b.dtype))
    return tf.where(minus, tf.zeros_like(a) - a, tf.truncatediv(a, tf.where(minus, tf.ones_like(b), b)))
