# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Sliding windows of convolutions and pools: resolves paddings and makes views."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from irfuzz.export.size_arithmetic.window_sizes import window_room
from irfuzz.export.tensorflow.support.arrays import dims


def pad_spatial(x, pads, value):
    """``x`` (N, C, *sizes) padded with ``value`` by (before, after) for each spatial axis; negative pads crop."""
    if any(amount < 0 for pair in pads for amount in pair):
        ends = [n + min(after, 0) for n, (_, after) in zip(dims(x)[2:], pads, strict=True)]
        kept = [slice(max(-before, 0), end) for end, (before, _) in zip(ends, pads, strict=True)]
        x = x[(slice(None), slice(None), *kept)]
    room = [(0, 0), (0, 0), *((max(before, 0), max(after, 0)) for before, after in pads)]
    if not any(amount for pair in room for amount in pair):
        return x
    return tf.pad(x, room, constant_values=tf.constant(value, x.dtype))


def pool_windows(x, kernel, strides, dilations, pads, counts, value):
    """All windows of ``x`` (N, C, *sizes) as (N, C, *counts, *kernel), outside filled with ``value``."""
    rank = len(kernel)
    x = pad_spatial(x, window_room(dims(x)[2:], kernel, strides, dilations, pads, counts), value)
    for i in range(rank):
        starts, taps = np.arange(counts[i]) * strides[i], np.arange(kernel[i]) * dilations[i]
        x = tf.gather(x, (starts[:, None] + taps[None, :]).astype(np.int32), axis=2 + 2 * i)
    return tf.transpose(x, [0, 1, *(2 + 2 * i for i in range(rank)), *(3 + 2 * i for i in range(rank))])


def add_windows(columns, sizes, strides, dilations):
    """Windows (A, B, *kernel, *counts) added up where they lie in (A, B, *sizes); the inverse of taking windows."""
    rank = len(sizes)
    shape = dims(columns)
    kernel, counts = shape[2 : 2 + rank], shape[2 + rank :]
    places = np.zeros((1,) * 2 * rank, np.int64)
    for i in range(rank):
        taps = (np.arange(kernel[i]) * dilations[i]).reshape(-1, *(1,) * (2 * rank - 1 - i))
        starts = (np.arange(counts[i]) * strides[i]).reshape(-1, *(1,) * (rank - 1 - i))
        places = places * sizes[i] + (taps + starts)
    flat = tf.reshape(columns, [shape[0] * shape[1], math.prod(kernel) * math.prod(counts)])
    total = tf.math.unsorted_segment_sum(tf.transpose(flat), places.reshape(-1), math.prod(sizes))
    return tf.reshape(tf.transpose(total), [shape[0], shape[1], *sizes])
