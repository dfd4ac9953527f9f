# pyright: basic, reportAttributeAccessIssue=none, reportArgumentType=none, reportCallIssue=none, reportOptionalMemberAccess=none
"""Convolutions: channels come second and go last, where the processor has kernels."""

from __future__ import annotations

import keras
import numpy as np

from irfuzz.export.keras.support.model_building_and_running import filled, kind


def channels_last(x):
    """The axis of the channels at the end."""
    return keras.layers.Permute((*range(2, len(x.shape)), 1), dtype=kind(x))(x)


def channels_second(x):
    """The axis of the channels behind the batch."""
    return keras.layers.Permute((len(x.shape) - 1, *range(1, len(x.shape) - 1)), dtype=kind(x))(x)


def zeros_around(x, pads):
    """Zeros around the inner axes of ``x``, whose channels are last."""
    if pads is None:
        return x
    layers = (keras.layers.ZeroPadding1D, keras.layers.ZeroPadding2D, keras.layers.ZeroPadding3D)
    around = pads if len(pads) > 1 else pads[0]
    return layers[len(pads) - 1](around, data_format="channels_last", dtype=kind(x))(x)


def conv(x, kernel, bias=None, *, strides=1, dilations=1, groups=1, padding="valid", pads=None):
    """Conv with a kernel [out, in / groups, ...]."""
    layers = (keras.layers.Conv1D, keras.layers.Conv2D, keras.layers.Conv3D)
    layer = layers[kernel.ndim - 3](
        kernel.shape[0],
        kernel.shape[2:],
        strides=strides,
        dilation_rate=dilations,
        padding=padding,
        use_bias=bias is not None,
        data_format="channels_last",
        dtype=kind(x),
        **({"groups": groups} if groups != 1 else {}),
    )
    weights = [np.transpose(kernel, (*range(2, kernel.ndim), 1, 0)), *([] if bias is None else [bias])]
    return channels_second(filled(layer, zeros_around(channels_last(x), pads), weights))


def depthwise_conv(x, kernel, bias=None, *, strides=1, dilations=1, padding="valid", pads=None):
    """Conv with a group for each channel and a kernel [out, 1, ...]."""
    channels, inner = x.shape[1], kernel.shape[2:]
    layers = (keras.layers.DepthwiseConv1D, keras.layers.DepthwiseConv2D)
    layer = layers[len(inner) - 1](
        inner,
        strides=strides,
        dilation_rate=dilations,
        depth_multiplier=kernel.shape[0] // channels,
        padding=padding,
        use_bias=bias is not None,
        data_format="channels_last",
        dtype=kind(x),
    )
    split = np.reshape(kernel, (channels, -1, *inner))
    weights = [np.transpose(split, (*range(2, split.ndim), 0, 1)), *([] if bias is None else [bias])]
    return channels_second(filled(layer, zeros_around(channels_last(x), pads), weights))


def conv_transpose(x, kernel, bias=None, *, strides=1, crops=None):
    """ConvTranspose with a kernel [in, out, ...]; ``crops`` are taken away around the inner axes of the whole."""
    layers = (keras.layers.Conv1DTranspose, keras.layers.Conv2DTranspose, keras.layers.Conv3DTranspose)
    layer = layers[kernel.ndim - 3](
        kernel.shape[1],
        kernel.shape[2:],
        strides=strides,
        padding="valid",
        use_bias=bias is not None,
        data_format="channels_last",
        dtype=kind(x),
    )
    weights = [np.transpose(kernel, (*range(2, kernel.ndim), 1, 0)), *([] if bias is None else [bias])]
    y = filled(layer, channels_last(x), weights)
    if crops is not None:
        cropping = (keras.layers.Cropping1D, keras.layers.Cropping2D, keras.layers.Cropping3D)
        around = crops if len(crops) > 1 else crops[0]
        options = {} if len(crops) == 1 else {"data_format": "channels_last"}
        y = cropping[len(crops) - 1](around, dtype=kind(x), **options)(y)
    return channels_second(y)
