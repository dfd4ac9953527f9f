# pyright: basic, reportAttributeAccessIssue=none, reportArgumentType=none, reportCallIssue=none, reportOptionalMemberAccess=none
"""Layers with weights that are no convolutions."""

from __future__ import annotations

import keras
import numpy as np

from irfuzz.export.keras.support.model_building_and_running import filled, kind


def dense(x, kernel, bias=None):
    """``x @ kernel + bias`` with a kernel [in, out]."""
    layer = keras.layers.Dense(kernel.shape[1], use_bias=bias is not None, dtype=kind(x))
    return filled(layer, x, [kernel, *([] if bias is None else [np.reshape(bias, -1)])])


def embedding(indices, table):
    """Rows of a table; negative indices count from its end."""
    layer = keras.layers.Embedding(*table.shape, dtype=table.dtype.name)
    rows = keras.ops.where(indices < 0, indices + len(table), indices)
    return filled(layer, rows, [table])


def batch_norm(x, scale, bias, mean, variance, *, epsilon):
    """BatchNormalization of the second axis, with the statistics that it is given."""
    layer = keras.layers.BatchNormalization(axis=1, epsilon=epsilon, dtype=kind(x))
    return filled(layer, x, [scale, bias, mean, variance])


def layer_norm(x, scale, bias=None, *, axes, epsilon):
    """LayerNormalization of the last axes."""
    layer = keras.layers.LayerNormalization(axis=list(axes), epsilon=epsilon, center=bias is not None, dtype=kind(x))
    return filled(layer, x, [scale, *([] if bias is None else [bias])])


def group_norm(x, scale, bias, *, groups, epsilon):
    """Normalisation of groups of the second axis, with a scale and a bias for each of its positions."""
    layer = keras.layers.GroupNormalization(groups, axis=1, epsilon=epsilon, dtype=kind(x))
    return filled(layer, x, [scale, bias])


def prelu(x, slope):
    """PRelu with a slope for all of the batch, one for each place of the other axes or for all along an axis."""
    slope = np.reshape(slope, (1,) * (len(x.shape) - slope.ndim) + slope.shape)[0]
    shared = [axis + 1 for axis, size in enumerate(slope.shape) if size == 1]
    layer = keras.layers.PReLU(shared_axes=shared or None, dtype=kind(x))
    return filled(layer, x, [slope])
