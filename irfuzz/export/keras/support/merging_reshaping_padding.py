# pyright: basic, reportAttributeAccessIssue=none, reportArgumentType=none, reportCallIssue=none, reportOptionalMemberAccess=none
"""Layers and operations that move elements, or combine them one by one."""

from __future__ import annotations

import keras

from irfuzz.export.keras.support.model_building_and_running import kind, symbolic


def merged(layer, operation, values):
    """A merging layer if all have the same shape, for it adds axes in its own way; else operations."""
    if len(values) == 1:
        return values[0]
    first = values[0].shape
    if len(first) > 1 and all(symbolic(v) and v.shape == first for v in values):
        return getattr(keras.layers, layer)(dtype=kind(values[0]))(values)
    result = values[0]
    for value in values[1:]:
        result = getattr(keras.ops, operation)(result, value)
    return result


def concat(values, axis):
    """Concat, as a layer if the batch stays what it is."""
    if len(values) == 1:
        return values[0]
    if axis % len(values[0].shape) and all(symbolic(v) for v in values):
        return keras.layers.Concatenate(axis, dtype=kind(values[0]))(values)
    return keras.ops.concatenate(values, axis)


def reshape(x, shape):
    """Reshape, as a layer if the batch stays what it is."""
    if len(x.shape) and shape and x.shape[0] == shape[0] and len(shape) > 1:
        return keras.layers.Reshape(shape[1:], dtype=kind(x))(x)
    return keras.ops.reshape(x, shape)


def transpose(x, perm):
    """Transpose, as a layer if the batch stays first."""
    if len(perm) > 1 and perm[0] == 0:
        return keras.layers.Permute(perm[1:], dtype=kind(x))(x)
    return keras.ops.transpose(x, perm)


def zero_padding(x, pads):
    """Zeros around the axes behind the first two."""
    layers = (keras.layers.ZeroPadding2D, keras.layers.ZeroPadding3D)
    return layers[len(pads) - 2](pads, data_format="channels_first", dtype=kind(x))(x)
