# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Control flow: Python's own if values are there, else the graph's."""

from __future__ import annotations

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import known


def branch(condition, then, otherwise):
    """ONNX If: a tuple of the results of one branch; only the branch taken is computed."""
    try:
        taken = bool(known(condition))
    except NotImplementedError:
        return tf.cond(tf.reshape(condition, ()), then, otherwise)
    return then() if taken else otherwise()


def loop(trips, condition, body, state, scans):
    """ONNX Loop: (state, lists of scanned values). ``body(count, keep, *state)`` gives ((keep,), state, scanned)."""
    limit = None if trips is None else known(trips)
    keep, count, lists = True if condition is None else bool(known(condition)), 0, [[] for _ in range(scans)]
    while keep and (limit is None or count < limit):
        (kept,), state, scanned = body(tf.constant(count, tf.int64), tf.constant(keep), *state)
        for found, value in zip(lists, scanned, strict=True):
            found.append(value)
        keep = True if condition is None else bool(known(kept))
        count += 1
    return state, lists
