# pyright: basic, reportAttributeAccessIssue=none, reportArgumentType=none, reportCallIssue=none, reportOptionalMemberAccess=none
"""Recurrent layers: time comes first and goes behind the batch."""

from __future__ import annotations

import keras
import numpy as np

from irfuzz.export.keras.support.model_building_and_running import kind


def gates(array, order):
    """Blocks of the first axis in another order."""
    blocks = np.split(array, len(order))
    return np.concatenate([blocks[i] for i in order])


def both_biases(bias, place, order, *, apart=False):
    """The biases of input and recurrence: their sum, or one below the other."""
    own, recurrent = (gates(half, order) for half in np.split(bias[place], 2))
    return np.stack([own, recurrent]) if apart else own + recurrent


def recur(make, x, kernel, recurrent, bias, order, states, direction, *, apart=False):
    """All steps [time, directions, batch, units], then the last states [directions, batch, units]."""
    x = keras.ops.transpose(x, (1, 0, 2))
    steps, finals = [], []
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    for place, backwards in enumerate(ways[direction]):
        layer = make(
            recurrent.shape[2],
            use_bias=bias is not None,
            return_sequences=True,
            return_state=True,
            go_backwards=backwards,
            dtype=kind(x),
        )
        layer.build(tuple(x.shape))
        weights = [gates(kernel[place], order).T, gates(recurrent[place], order).T]
        layer.set_weights([*weights, *([] if bias is None else [both_biases(bias, place, order, apart=apart)])])
        first = [state[place] for state in states]
        first = [keras.ops.convert_to_tensor(state) if isinstance(state, np.ndarray) else state for state in first]
        y, *last = layer(x, initial_state=first or None, training=False)
        steps.append(keras.ops.transpose(keras.ops.flip(y, axis=1) if backwards else y, (1, 0, 2)))
        finals.append(last)
    return (keras.ops.stack(steps, axis=1), *(keras.ops.stack(last, axis=0) for last in zip(*finals)))  # noqa: B905


def simple_rnn(x, kernel, recurrent, bias=None, h=None, *, direction, activation):
    """RNN."""

    def make(units, **options):
        return keras.layers.SimpleRNN(units, activation=activation, **options)

    return recur(make, x, kernel, recurrent, bias, (0,), [h] if h is not None else [], direction)


def gru(x, kernel, recurrent, bias=None, h=None, *, direction, activation, gate, reset_after):
    """GRU; both have their gates in the order z, r, h."""

    def make(units, **options):
        known = {"activation": activation, "recurrent_activation": gate, "reset_after": reset_after}
        return keras.layers.GRU(units, **known, **options)

    states = [h] if h is not None else []
    return recur(make, x, kernel, recurrent, bias, (0, 1, 2), states, direction, apart=reset_after)


def lstm(x, kernel, recurrent, bias=None, h=None, c=None, *, direction, activation, gate):
    """LSTM; ONNX has its gates in the order i, o, f, c, Keras in the order i, f, c, o."""

    def make(units, **options):
        return keras.layers.LSTM(units, activation=activation, recurrent_activation=gate, **options)

    states = [] if h is None and c is None else [h, c]
    shape = (kernel.shape[0], x.shape[1], recurrent.shape[2])
    states = [np.zeros(shape, kernel.dtype) if state is None else state for state in states]
    return recur(make, x, kernel, recurrent, bias, (0, 2, 3, 1), states, direction)
