# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Random numbers, repeatable: they follow from a seed alone, and without one they are always the same."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims, known


def seed_pair(seed):
    """The seed of TensorFlow's stateless operators; ONNX's seeds are floats."""
    bits = 0 if seed is None else int(np.float64(seed).view(np.int64))
    return [bits & 0x7FFFFFFF, bits >> 32 & 0x7FFFFFFF]


def random_normal(shape, mean, scale, dtype, seed=None):
    """Normally distributed numbers."""
    return tf.cast(tf.random.stateless_normal(shape, seed_pair(seed), dtype=tf.float64) * scale + mean, dtype)


def random_uniform(shape, high, low, dtype, seed=None):
    """Numbers distributed uniformly between two limits."""
    drawn = tf.random.stateless_uniform(shape, seed_pair(seed), dtype=tf.float64)
    return tf.cast(drawn * (high - low) + low, dtype)


def bernoulli(x, dtype, seed=None):
    """1 with the probability that each element states, else 0."""
    drawn = tf.random.stateless_uniform(dims(x), seed_pair(seed), dtype=tf.float64)
    return tf.cast(drawn < tf.cast(x, tf.float64), dtype)


def multinomial(x, count, dtype, seed=None):
    """Indices of columns, drawn by unnormalised log-probabilities."""
    drawn = tf.random.stateless_categorical(tf.cast(x, tf.float64), count, seed_pair(seed), tf.int64)
    return tf.cast(drawn, dtype)


def training_dropout(x, ratio, training, seed=None):
    """Elements dropped with a probability, the others scaled so that the mean stays; and which were kept."""
    share = 0.5 if ratio is None else float(known(ratio))
    if not known(training) or share == 0:
        return x, tf.ones_like(x, tf.bool)
    kept = tf.random.stateless_uniform(dims(x), seed_pair(seed), dtype=tf.float64) >= share
    scaled = tf.cast(x, tf.float64) / (1 - share)
    return tf.cast(tf.where(kept, scaled, tf.zeros_like(scaled)), x.dtype), kept
