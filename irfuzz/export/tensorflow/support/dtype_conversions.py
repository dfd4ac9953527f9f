# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Exact wider or reinterpreted forms of element types that TensorFlow has few kernels for, and casts rounded once."""

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


HALVES = (tf.float16, tf.bfloat16)


def cast(x, dtype):
    """ONNX Cast: truncation from float to integer, wrapping between integers, one rounding to nearest even to float.

    Out-of-range float to integer is undefined in ONNX and left to TensorFlow.
    """
    if x.dtype == dtype:
        return x
    if tf.string in (x.dtype, dtype):
        raise NotImplementedError("ONNX leaves the text of numbers open")
    if dtype in HALVES and x.dtype != tf.bool and x.dtype not in HALVES and x.dtype != tf.float32:
        # TensorFlow goes through float32 and so rounds twice; make the first rounding harmless.
        return tf.cast(odd_single(x), dtype)
    if dtype == tf.bool:
        return tf.not_equal(x, tf.zeros((), x.dtype))
    return tf.cast(x, dtype)


def odd_single(x):
    """float64 or integers as float32 rounded to odd, so that a further rounding to a half type is right."""
    if not x.dtype.is_floating:
        x = sticky_double(x)
    nearest = tf.cast(x, tf.float32)
    back = tf.cast(nearest, tf.float64)
    raw = tf.bitcast(nearest, tf.int32)
    even = tf.equal(tf.bitwise.bitwise_and(raw, 1), 0)
    inexact = tf.not_equal(back, x) & even & tf.math.is_finite(x) & tf.math.is_finite(nearest)
    # Neighbouring numbers have neighbouring bit patterns, the greater magnitude the greater one.
    odd = tf.where(tf.abs(x) > tf.abs(back), raw + 1, raw - 1)
    return tf.bitcast(tf.where(inexact, odd, raw), tf.float32)


def sticky_double(x):
    """Integers as float64; beyond 2**53 the lowest bit kept says whether lower ones were lost."""
    wide = x if x.dtype == tf.uint64 else tf.cast(x, tf.int64)
    one, mask = tf.constant(1, wide.dtype), tf.constant(2047, wide.dtype)
    lost = tf.not_equal(tf.bitwise.bitwise_and(wide, mask), tf.zeros((), wide.dtype))
    upper = tf.bitwise.right_shift(wide, tf.constant(11, wide.dtype))
    upper = tf.where(lost, tf.bitwise.bitwise_or(upper, one), upper)
    limit = tf.constant(2**53, wide.dtype)
    small = wide < limit if wide.dtype == tf.uint64 else (wide < limit) & (wide > -limit)
    return tf.where(small, tf.cast(wide, tf.float64), tf.cast(upper, tf.float64) * 2048)
