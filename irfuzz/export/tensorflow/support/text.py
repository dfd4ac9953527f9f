# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Strings enter and leave."""

from __future__ import annotations

import tensorflow as tf


def string_concat(a, b):
    """ONNX StringConcat."""
    shape = tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(b))
    return tf.strings.join([tf.broadcast_to(a, shape), tf.broadcast_to(b, shape)])
