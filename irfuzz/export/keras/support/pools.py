# pyright: basic, reportAttributeAccessIssue=none, reportArgumentType=none, reportCallIssue=none, reportOptionalMemberAccess=none
"""Pooling: channels come second and go last, where the processor has kernels."""

from __future__ import annotations

import keras
import numpy as np

from irfuzz.export.keras.support.convolutions import channels_last, channels_second, zeros_around
from irfuzz.export.keras.support.model_building_and_running import kind


def max_pool(x, size, *, strides, padding="valid", pads=None):
    """MaxPool; what stands around counts as minus infinity."""
    layers = (keras.layers.MaxPooling1D, keras.layers.MaxPooling2D, keras.layers.MaxPooling3D)
    x = channels_last(x)
    if pads is not None:
        x = keras.ops.pad(x, ((0, 0), *pads, (0, 0)), constant_values=-np.inf)
    layer = layers[len(size) - 1](size, strides, padding, data_format="channels_last", dtype=kind(x))
    return channels_second(layer(x))


def average_pool(x, size, *, strides, padding="valid", pads=None):
    """AveragePool; zeros that ``pads`` puts around count, what ``padding="same"`` does not."""
    layers = (keras.layers.AveragePooling1D, keras.layers.AveragePooling2D, keras.layers.AveragePooling3D)
    layer = layers[len(size) - 1](size, strides, padding, data_format="channels_last", dtype=kind(x))
    return channels_second(layer(zeros_around(channels_last(x), pads)))


def global_average_pool(x):
    """GlobalAveragePool."""
    pools = keras.layers
    layers = (pools.GlobalAveragePooling1D, pools.GlobalAveragePooling2D, pools.GlobalAveragePooling3D)
    return layers[len(x.shape) - 3](data_format="channels_first", keepdims=True, dtype=kind(x))(x)


def global_max_pool(x):
    """GlobalMaxPool."""
    layers = (keras.layers.GlobalMaxPooling1D, keras.layers.GlobalMaxPooling2D, keras.layers.GlobalMaxPooling3D)
    return layers[len(x.shape) - 3](data_format="channels_first", keepdims=True, dtype=kind(x))(x)


def up_sampling(x, size, interpolation=None):
    """Resize by whole factors of the inner axes."""
    layers = (keras.layers.UpSampling1D, keras.layers.UpSampling2D, keras.layers.UpSampling3D)
    options = {} if len(size) == 1 else {"data_format": "channels_last"}
    if interpolation is not None:
        options["interpolation"] = interpolation
    factor = size if len(size) > 1 else size[0]
    return channels_second(layers[len(size) - 1](factor, dtype=kind(x), **options)(channels_last(x)))
