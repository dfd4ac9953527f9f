# pyright: basic, reportAttributeAccessIssue=none, reportArgumentType=none, reportCallIssue=none, reportOptionalMemberAccess=none
"""Makes a functional model that takes numpy arrays."""

from __future__ import annotations

import keras
import numpy as np


def to_tensor(value, dtype):
    """An array of ``dtype``: layers hold their weights as arrays."""
    if not isinstance(value, (np.ndarray, np.generic, int, float, bool)):
        raise NotImplementedError("a Keras model takes tensors, no sequences and no optionals")
    array = np.asarray(value)
    if array.dtype.name != dtype:
        raise TypeError(f"expected an array of {dtype}, got {array.dtype}")
    return np.array(array, dtype=array.dtype.newbyteorder("="))


def to_array(value):
    """An array from a tensor."""
    return value if isinstance(value, np.ndarray) else np.asarray(keras.ops.convert_to_numpy(value))


def symbolic(value):
    """Whether a value stands for a tensor of a model that is being built."""
    return isinstance(value, keras.KerasTensor) if hasattr(keras, "KerasTensor") else hasattr(value, "_keras_history")


def functional(forward, weights, inputs):
    """The model of ``forward`` for inputs of these sizes, in their order, and the names of its outputs."""
    if not inputs or any(array.ndim == 0 for array in inputs.values()):
        raise NotImplementedError("no input, or one without a first axis, which Keras takes for the batch")
    symbols = {
        name: keras.layers.Input(batch_shape=array.shape, dtype=array.dtype.name, name=f"input_{index}")
        for index, (name, array) in enumerate(inputs.items())
    }
    outputs = forward(weights, symbols)
    for name, value in outputs.items():
        if not symbolic(value):
            raise NotImplementedError(f"output {name!r} depends on no input, as the outputs of a Keras model do")
    return keras.models.Model(list(symbols.values()), list(outputs.values())), list(outputs)


def evaluated(model, inputs):
    """The outputs of a model, as arrays in their order."""
    given = list(inputs.values())
    outputs = model(given, training=False) if hasattr(keras, "KerasTensor") else model.predict_on_batch(given)
    return [to_array(value) for value in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def kind(x):
    """The name of the element type, in which a layer is to compute."""
    return keras.backend.standardize_dtype(x.dtype) if hasattr(keras, "KerasTensor") else keras.backend.dtype(x)


def filled(layer, x, weights):
    """What a new layer computes of ``x`` with these weights."""
    return with_weights(layer, weights, lambda: layer(x))


def with_weights(layer, weights, call):
    """What a new layer computes in a call with these weights, once it is seen that it holds them to the bit."""
    made = call()  # builds the layer
    inner = layer.layer if type(layer).__name__ == "TimeDistributed" else layer
    weights = as_held(type(inner).__name__, weights, keras.backend.backend())
    layer.set_weights(weights)
    held = layer.get_weights()
    same = [np.asarray(a).tobytes() == np.ascontiguousarray(b).tobytes() for a, b in zip(held, weights)]  # noqa: B905
    if len(held) != len(weights) or not all(same):
        raise RuntimeError(f"layer {type(layer).__name__} does not hold the weights that it was given")
    values = made if isinstance(made, (list, tuple)) else [made]
    return made if any(symbolic(value) for value in values) else call()


def as_held(layer, weights, backend):
    """The weights of a kind of layer as a back end holds them.

    Theano's convolutions turn their kernels round, which others do not. Keras 2 turns the kernels of these layers, and
    of no others, when it loads a file that another back end wrote: its depthwise convolutions do it themselves.
    """
    kernels = {"Conv1D": 1, "Conv2D": 1, "Conv3D": 1, "Conv2DTranspose": 1, "ConvLSTM2D": 2}
    turned = kernels.get(layer, 0) if backend == "theano" else 0
    return [w[(slice(None, None, -1),) * (w.ndim - 2)] if i < turned else w for i, w in enumerate(weights)]
