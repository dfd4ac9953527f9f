# pyright: basic
"""Recurrent networks, computed in float64."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, wide
from irfuzz.export.array.support.elementwise import logistic, soft_plus

ACTIVATIONS = {
    "affine": (1.0, 0.0),
    "elu": (1.0, 0.0),
    "hardsigmoid": (float(np.float32(0.2)), 0.5),
    "leakyrelu": (float(np.float32(0.01)), 0.0),
    "relu": (0.0, 0.0),
    "scaledtanh": (1.0, 1.0),
    "sigmoid": (0.0, 0.0),
    "softplus": (0.0, 0.0),
    "softsign": (0.0, 0.0),
    "tanh": (0.0, 0.0),
    "thresholdedrelu": (1.0, 0.0),
}

ALPHAS = ("affine", "elu", "hardsigmoid", "leakyrelu", "scaledtanh", "thresholdedrelu")

BETAS = ("affine", "hardsigmoid", "scaledtanh")


def with_numbers(names, alphas, betas):
    """(name, alpha, beta) of each activation: numbers that are given are used up in order, then come the defaults."""
    alphas, betas, result = list(alphas), list(betas), []
    for name in map(str.lower, names):
        alpha, beta = ACTIVATIONS[name]
        alpha = alphas.pop(0) if alphas and name in ALPHAS else alpha
        beta = betas.pop(0) if betas and name in BETAS else beta
        result.append((name, alpha, beta))
    return result


def activated(activation, x):
    """An activation of ONNX's recurrent operators, which is (name, alpha, beta)."""
    name, alpha, beta = activation
    functions = {
        "affine": lambda: alpha * x + beta,
        "elu": lambda: np.where(x < 0, alpha * np.expm1(x), x),
        "hardsigmoid": lambda: np.clip(alpha * x + beta, 0, 1),
        "leakyrelu": lambda: np.where(x < 0, alpha * x, x),
        "relu": lambda: np.maximum(x, 0),
        "scaledtanh": lambda: alpha * np.tanh(beta * x),
        "sigmoid": lambda: logistic(x),
        "softplus": lambda: soft_plus(x),
        "softsign": lambda: x / (1 + np.abs(x)),
        "tanh": lambda: np.tanh(x),
        "thresholdedrelu": lambda: np.where(x >= alpha, x, 0.0),
    }
    return functions[name]()


def limited(x, clip):
    """``x`` within [-clip, clip]; unchanged if there is no threshold."""
    return x if clip is None else np.clip(x, -clip, clip)


def rnn_step(gates, h, state, acts, clip, peepholes, option):
    """H = f(X W' + H R' + Wb + Rb)."""
    (given, recurrent) = gates
    return activated(acts[0], limited(given[0] + recurrent(h)[0], clip)), state


def gru_step(gates, h, state, acts, clip, peepholes, option):
    """Gates z, r, h; ``option`` is linear_before_reset, with which R and its bias are applied before the reset."""
    given, recurrent = gates
    own = recurrent(h)
    z, r = (activated(acts[0], limited(given[i] + own[i], clip)) for i in (0, 1))
    inner = r * own[2] if option else recurrent(r * h)[2]
    new = activated(acts[1], limited(given[2] + inner, clip))
    return z * h + (1 - z) * new, state


def lstm_step(gates, h, state, acts, clip, peepholes, option):
    """Gates i, o, f, c; peepholes i, o, f; ``option`` is input_forget."""
    given, recurrent = gates
    i, o, f, c = (a + b for a, b in zip(given, recurrent(h), strict=True))
    i = activated(acts[0], limited(i + peepholes[0] * state, clip))
    f = 1 - i if option else activated(acts[0], limited(f + peepholes[2] * state, clip))
    cell = f * state + i * activated(acts[1], limited(c, clip))
    o = activated(acts[0], limited(o + peepholes[1] * cell, clip))
    return o * activated(acts[2], limited(cell, clip)), cell


def one_way(step, count, x, w, r, b, lengths, h, c, p, acts, clip, backward, option):
    """One direction of a recurrent operator: (Y, last H, last C), all (..., batch, hidden)."""
    hidden = r.shape[1]
    for_x, for_h = np.split(np.zeros(2 * count * hidden) if b is None else wide(b), 2)
    peepholes = np.split(np.zeros(3 * hidden) if p is None else wide(p), 3)

    def products(matrix, bias, vector):
        return np.split(vector @ matrix.T + bias, count, -1)

    rows = [np.zeros_like(h)] * len(x)
    for t in reversed(range(len(x))) if backward else range(len(x)):
        gates = (products(wide(w), for_x, x[t]), lambda vector: products(wide(r), for_h, vector))
        new_h, new_c = step(gates, h, c, acts, clip, peepholes, option)
        # Beyond its length a sequence keeps its state and gives zeros; going back, those steps come first.
        inside = np.ones((x.shape[1], 1), np.bool_) if lengths is None else (lengths > t)[:, None]
        h, c = np.where(inside, new_h, h), np.where(inside, new_c, c)
        rows[t] = np.where(inside, new_h, 0.0)
    return (np.stack(rows) if rows else np.zeros((0, *h.shape))), h, c


def recurrent(step, count, inputs, own, alphas, betas, activations, clip, direction, layout, option):
    """Every direction: (Y, last H, last C); with ``layout`` 1 the batch comes first in x, Y and the states.

    ``own`` are the activations of one direction unless others are given, ``inputs`` those of ONNX's LSTM.
    """
    x, w, r, b, lengths, h0, c0, p = inputs
    ways, hidden = w.shape[0], r.shape[2]
    acts = with_numbers((activations or own * ways)[: len(own) * ways], alphas, betas)
    data = np.swapaxes(wide(x), 0, 1) if layout else wide(x)
    states = [
        np.zeros((ways, data.shape[1], hidden)) if s is None else np.swapaxes(wide(s), 0, 1) if layout else wide(s)
        for s in (h0, c0)
    ]
    found = [
        one_way(
            step, count, data, w[d], r[d], None if b is None else b[d], lengths, states[0][d], states[1][d],
            None if p is None else p[d], acts[d * len(own) : (d + 1) * len(own)], clip,
            direction == "reverse" or d == 1, option,
        )
        for d in range(ways)
    ]  # fmt: skip
    y, h, c = (np.stack([way[i] for way in found], 0 if i else 1) for i in range(3))
    if layout:
        y, h, c = np.transpose(y, (2, 0, 1, 3)), np.swapaxes(h, 0, 1), np.swapaxes(c, 0, 1)
    return tuple(cast(result, x.dtype) for result in (y, h, c))


def rnn(
    x, w, r, b=None, lengths=None, h0=None, *, activation_alpha=(), activation_beta=(), activations=None, clip=None,
    direction="forward", layout=0,
):  # fmt: skip
    """ONNX RNN: (Y, Y_h)."""
    how = (activation_alpha, activation_beta, activations, clip, direction, layout)
    return recurrent(rnn_step, 1, (x, w, r, b, lengths, h0, None, None), ("Tanh",), *how, 0)[:2]


def gru(
    x, w, r, b=None, lengths=None, h0=None, *, activation_alpha=(), activation_beta=(), activations=None, clip=None,
    direction="forward", layout=0, linear_before_reset=0,
):  # fmt: skip
    """ONNX GRU: (Y, Y_h); activations f and g."""
    how = (activation_alpha, activation_beta, activations, clip, direction, layout, linear_before_reset)
    return recurrent(gru_step, 3, (x, w, r, b, lengths, h0, None, None), ("Sigmoid", "Tanh"), *how)[:2]


def lstm(
    x, w, r, b=None, lengths=None, h0=None, c0=None, p=None, *, activation_alpha=(), activation_beta=(),
    activations=None, clip=None, direction="forward", input_forget=0, layout=0,
):  # fmt: skip
    """ONNX LSTM: (Y, Y_h, Y_c); activations f, g and h."""
    how = (activation_alpha, activation_beta, activations, clip, direction, layout, input_forget)
    return recurrent(lstm_step, 4, (x, w, r, b, lengths, h0, c0, p), ("Sigmoid", "Tanh", "Tanh"), *how)
