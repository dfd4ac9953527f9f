# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Operators on strings and tokens."""

from __future__ import annotations

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims, static


def string_concat(a, b):
    """ONNX StringConcat."""
    shape = tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(b))
    return tf.strings.join([tf.broadcast_to(a, shape), tf.broadcast_to(b, shape)])


def string_normalizer(x, change, sensitive, words=()):
    """ONNX StringNormalizer of (words) or (1, words): without stop words, in another case."""
    flat = tf.reshape(x, (-1,))
    if (change != "NONE" or not sensitive) and any(not text.isascii() for text in static(flat)):
        raise NotImplementedError("ONNX leaves the case of letters beyond ASCII to the environment")
    keep = tf.ones_like(flat, dtype=tf.bool)
    compared = flat if sensitive else tf.strings.lower(flat)
    for word in words:
        keep = keep & tf.not_equal(compared, word if sensitive else word.lower())
    kept = tf.boolean_mask(flat, keep)
    if len(static(kept)) == 0:
        kept = tf.constant([""])
    if change != "NONE":
        kept = tf.strings.lower(kept) if change == "LOWER" else tf.strings.upper(kept)
    return kept if len(x.shape) == 1 else tf.reshape(kept, (1, -1))


def string_split(x, delimiter="", most=-1):
    """ONNX StringSplit: (parts along a new last axis, filled up with empty ones; how many there are)."""
    parts = tf.strings.split(tf.reshape(x, (-1,)), delimiter or None, -1 if most is None else most)
    padded = parts.to_tensor("")
    return tf.reshape(padded, [*dims(x), dims(padded)[1]]), tf.reshape(parts.row_lengths(), dims(x))


def tfidf(x, grams, size, skips, dtype, weights=None, binary=0):
    """ONNX TfIdfVectorizer of (tokens) or (rows, tokens): how often each n-gram is found, at its place of ``size``.

    ``grams`` are places and tokens; up to ``skips`` tokens may lie between two of an n-gram's, each time as many.
    Counts are of ``dtype``.
    """
    rows = x if len(x.shape) == 2 else tf.reshape(x, (1, -1))
    rows = rows if x.dtype == tf.string else tf.cast(rows, tf.int64)
    columns = [tf.zeros(dims(rows)[:1], dtype)] * size
    for place, gram in grams:
        count = columns[place]
        for step in range(1, 2 + (skips if len(gram) > 1 else 0)):
            room = dims(rows)[1] - step * (len(gram) - 1)
            if room > 0:
                hits = [tf.equal(rows[:, i * step : i * step + room], token) for i, token in enumerate(gram)]
                count = count + tf.reduce_sum(tf.cast(tf.reduce_all(hits, 0), dtype), 1)
        columns[place] = count
    result = tf.stack(columns, 1)
    if binary:
        result = tf.cast(result > 0, dtype)
    if weights is not None:
        result = result * tf.constant(weights, dtype)
    return result if len(x.shape) == 2 else tf.reshape(result, (-1,))
