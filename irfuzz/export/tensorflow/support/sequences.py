# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Operators on sequences, as lists of tensors."""

from __future__ import annotations

import tensorflow as tf

from irfuzz.export.size_arithmetic.result_shapes import empty_stack_sizes
from irfuzz.export.tensorflow.support.array_tensor_conversion import ints, known, sizes_of


def stacked(tensors, axis, dtype=None, shape=None):
    """Tensors along a new axis; none at all give an empty tensor of the ``dtype`` and element ``shape`` declared."""
    if tensors:
        return tf.stack(tensors, axis)
    return tf.zeros(empty_stack_sizes(shape, axis, dtype), dtype=dtype)


def sequence_at(sequence, position):
    """ONNX SequenceAt; negative positions count from the end."""
    return sequence[known(position)]


def sequence_insert(sequence, tensor, position=None):
    """ONNX SequenceInsert: before ``position`` (negative from the end), at the end if absent."""
    copy = list(sequence)
    copy.insert(len(copy) if position is None else known(position), tensor)
    return copy


def sequence_erase(sequence, position=None):
    """ONNX SequenceErase: without the element at ``position``, the last if absent."""
    copy = list(sequence)
    del copy[-1 if position is None else known(position)]
    return copy


def split_to_sequence(x, split=None, axis=0, keepdims=1):
    """ONNX SplitToSequence: parts of the sizes given, of one size (the last may be smaller), or single elements."""
    size = sizes_of(x)[axis]
    if split is None:
        parts = tf.split(x, size, axis) if size else []
        return [part if keepdims else tf.squeeze(part, axis) for part in parts]
    if split.shape.rank == 0:
        step = known(split)
        return tf.split(x, [min(step, size - start) for start in range(0, size, step)], axis)
    return tf.split(x, list(ints(split)), axis)
