# pyright: basic, reportAttributeAccessIssue=none, reportArgumentType=none, reportCallIssue=none, reportOptionalMemberAccess=none
"""Makes a functional model that takes numpy arrays."""

from __future__ import annotations

import keras
import numpy as np


def to_tensor(value, dtype):
    """An array of ``dtype``: layers hold their weights as arrays."""
    if not isinstance(value, np.ndarray | np.generic | int | float | bool):
        raise NotImplementedError("a Keras model takes tensors, no sequences and no optionals")
    array = np.asarray(value)
    if array.dtype.name != dtype:
        raise TypeError(f"expected an array of {dtype}, got {array.dtype}")
    return np.array(array, dtype=array.dtype.newbyteorder("="))


def to_array(value):
    """An array from a tensor."""
    return np.asarray(keras.ops.convert_to_numpy(value))


def functional(forward, weights, inputs):
    """The model of ``forward`` for inputs of these sizes, in their order, and the names of its outputs."""
    if not inputs or any(array.ndim == 0 for array in inputs.values()):
        raise NotImplementedError("no input, or one without a first axis, which Keras takes for the batch")
    symbols = {
        name: keras.Input(batch_shape=array.shape, dtype=array.dtype.name, name=f"input_{index}")
        for index, (name, array) in enumerate(inputs.items())
    }
    outputs = forward(weights, symbols)
    for name, value in outputs.items():
        if not isinstance(value, keras.KerasTensor):
            raise NotImplementedError(f"output {name!r} depends on no input, as the outputs of a Keras model do")
    return keras.Model(list(symbols.values()), list(outputs.values())), list(outputs)


def kind(x):
    """The name of the element type, in which a layer is to compute."""
    return keras.backend.standardize_dtype(x.dtype)


def filled(layer, x, weights):
    """What a new layer computes of ``x`` with these weights."""
    layer.build(tuple(x.shape))
    layer.set_weights(weights)
    return layer(x, training=False)
