# pyright: basic
"""Operators on sequences, as lists of tensors."""

from __future__ import annotations

import torch

from irfuzz.export.size_arithmetic.result_shapes import empty_stack_sizes


def stacked(tensors, axis, dtype=None, shape=None):
    """Tensors along a new axis; none at all give an empty tensor of the ``dtype`` and element ``shape`` declared."""
    if tensors:
        return torch.stack(tensors, axis)
    return torch.zeros(empty_stack_sizes(shape, axis, dtype), dtype=dtype)


def sequence_insert(sequence, tensor, position=None):
    """ONNX SequenceInsert: before ``position`` (negative from the end), at the end if absent."""
    copy = list(sequence)
    copy.insert(len(copy) if position is None else int(position), tensor)
    return copy


def sequence_erase(sequence, position=None):
    """ONNX SequenceErase: without the element at ``position``, the last if absent."""
    copy = list(sequence)
    del copy[-1 if position is None else int(position)]
    return copy


def split_to_sequence(x, split=None, axis=0, keepdims=1):
    """ONNX SplitToSequence: parts of the sizes given, of one size (the last may be smaller), or single elements."""
    if split is None:
        return [part if keepdims else part.squeeze(axis) for part in x.split(1, axis)]
    if split.dim() == 0:
        return list(x.split(int(split), axis))
    return list(x.split(split.tolist(), axis))
