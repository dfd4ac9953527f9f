# pyright: basic
"""Operations on lists of arrays."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.dtype_conversions import number


def sequence_at(sequence, position):
    """ONNX SequenceAt; negative positions count from the end."""
    return sequence[number(position)]


def sequence_length(sequence):
    """ONNX SequenceLength."""
    return np.array(len(sequence), np.int64)


def concat_from_sequence(sequence, axis, new_axis=0):
    """ONNX ConcatFromSequence, along an axis of the elements or a new one."""
    return (np.stack if new_axis else np.concatenate)(sequence, axis)


def sequence_insert(sequence, item, position=None):
    """ONNX SequenceInsert: before ``position`` (negative from the end), at the end if absent."""
    at = len(sequence) if position is None else number(position)
    return [*sequence[:at], item, *sequence[at:]]


def sequence_erase(sequence, position=None):
    """ONNX SequenceErase: without the element at ``position``, the last if absent."""
    at = range(len(sequence))[-1 if position is None else number(position)]
    return [item for i, item in enumerate(sequence) if i != at]


def split_to_sequence(x, split=None, axis=0, keepdims=1):
    """ONNX SplitToSequence: parts of the sizes given, of one size (the last may be smaller), or single elements."""
    size = x.shape[axis]
    if split is None:
        parts = [np.take(x, [i], axis) for i in range(size)]
        return parts if keepdims else [np.squeeze(part, axis) for part in parts]
    ends = range(number(split), size, number(split)) if split.ndim == 0 else np.cumsum(split)[:-1]
    return np.split(x, list(ends), axis)
