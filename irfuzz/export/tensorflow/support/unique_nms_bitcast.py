# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Operators that select elements, boxes or bits."""

from __future__ import annotations

import math

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims, known


def bit_cast(x, dtype):
    """ONNX BitCast to a type of the same width."""
    if tf.bool in (x.dtype, dtype):
        return tf.cast(x, dtype) if x.dtype in (tf.bool, tf.uint8, tf.int8) else tf.bitcast(x, dtype)
    return tf.bitcast(x, dtype)


def unique(x, axis=None, sort=1):
    """ONNX Unique: (elements or slices, first places, place of each in the result, counts)."""
    slices = tf.reshape(x, [-1]) if axis is None else x
    axis = 0 if axis is None else axis % len(x.shape)
    kinds = slices
    if slices.dtype.is_floating:
        kinds = tf.where(slices == 0, tf.zeros_like(slices), slices)  # the sign of zero does not tell apart
    _, inverse, counts = tf.raw_ops.UniqueWithCountsV2(x=kinds, axis=[axis], out_idx=tf.int64)
    size, found = tf.cast(dims(slices)[axis], tf.int64), tf.size(counts, tf.int64)
    first = tf.math.unsorted_segment_min(tf.range(size), inverse, found)
    if sort:
        order = sorted_rows(tf.gather(kinds, first, axis=axis), axis)
        first, counts = tf.gather(first, order), tf.gather(counts, order)
        inverse = tf.gather(tf.math.invert_permutation(order), inverse)
    return tf.gather(slices, first, axis=axis), first, tf.cast(inverse, tf.int64), counts


def sorted_rows(x, axis):
    """The order that sorts the slices of x along ``axis`` by their first element, then their second, and so on."""
    rank = len(x.shape)
    rows = tf.transpose(x, [axis, *(i for i in range(rank) if i != axis)])
    width = math.prod(dims(rows)[1:])
    rows = tf.reshape(tf.cast(rows, tf.int32) if x.dtype == tf.bool else rows, [-1, width])
    order = tf.range(tf.shape(rows)[0])
    for column in reversed(range(width)):
        order = tf.gather(order, tf.argsort(tf.gather(rows[:, column], order), stable=True))
    return order


def box_ends(boxes, centered):
    """Lower and upper ends (..., 2) of boxes given by two opposite corners, or by center and size."""
    boxes = tf.cast(boxes, tf.float64)
    if centered:
        center, size = boxes[..., :2], boxes[..., 2:]
        return center - size / 2, center + size / 2
    return tf.minimum(boxes[..., :2], boxes[..., 2:]), tf.maximum(boxes[..., :2], boxes[..., 2:])


def overlaps(boxes, centered):
    """Intersection over union of each two boxes of an image, (images, boxes, boxes)."""
    low, high = box_ends(boxes, centered)
    start = tf.maximum(tf.expand_dims(low, 1), tf.expand_dims(low, 2))
    end = tf.minimum(tf.expand_dims(high, 1), tf.expand_dims(high, 2))
    shared = tf.reduce_prod(tf.maximum(end - start, 0.0), -1)
    area = tf.reduce_prod(high - low, -1)
    union = tf.expand_dims(area, 1) + tf.expand_dims(area, 2) - shared
    return tf.where(union > 0, shared / union, tf.zeros_like(union))


def non_max_suppression(boxes, scores, most=None, iou=None, least=None, centered=0):
    """ONNX NonMaxSuppression: rows (batch, class, box), best score first within each class."""
    most = 0 if most is None else int(known(most))
    limit = tf.constant(0.0, tf.float64) if iou is None else tf.cast(tf.reshape(iou, []), tf.float64)
    order = tf.argsort(scores, -1, "DESCENDING", stable=True)
    ranked = tf.gather(scores, order, batch_dims=2)
    eligible = tf.ones_like(ranked, tf.bool) if least is None else ranked > tf.reshape(least, [])
    ratio = tf.gather(overlaps(boxes, centered), order, batch_dims=1)  # (images, classes, ranks, boxes)
    clash = tf.gather(ratio, order, axis=3, batch_dims=2) > limit
    count = dims(scores)[2]
    if not isinstance(count, int):
        raise NotImplementedError("a number of boxes that the graph computes: only eager runs can read it")
    kept = []
    for i in range(count):
        free = eligible[..., i]
        if kept:
            before = tf.stack(kept, -1)
            free = free & ~tf.reduce_any(before & clash[..., i, :i], -1)
            free = free & (tf.reduce_sum(tf.cast(before, tf.int64), -1) < most)
        kept.append(free & (most > 0))
    if not kept:
        return tf.zeros([0, 3], tf.int64)
    rows = tf.where(tf.stack(kept, -1))
    box = tf.cast(tf.gather_nd(order, rows), tf.int64)
    return tf.concat([rows[:, :2], tf.expand_dims(box, 1)], 1)
