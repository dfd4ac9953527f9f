# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Recurrent layers: hidden states from sequences and weights."""

from __future__ import annotations

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims
from irfuzz.export.tensorflow.support.dtype_conversions import single
from irfuzz.export.tensorflow.support.elementwise import log_one_plus_exp


def activation(name, x, alpha, beta):
    """An activation of ONNX's recurrent operators by name."""
    name = name.lower()
    if name == "relu":
        return tf.nn.relu(x)
    if name == "tanh":
        return tf.tanh(x)
    if name == "sigmoid":
        return tf.sigmoid(x)
    if name == "affine":
        return alpha * x + beta
    if name == "leakyrelu":
        return tf.where(x >= 0, x, alpha * x)
    if name == "thresholdedrelu":
        return tf.where(x >= alpha, x, tf.zeros_like(x))
    if name == "scaledtanh":
        return alpha * tf.tanh(beta * x)
    if name == "hardsigmoid":
        return tf.minimum(tf.maximum(alpha * x + beta, 0), 1)
    if name == "elu":
        return tf.where(x >= 0, x, alpha * tf.math.expm1(x))
    if name == "softsign":
        return x / (1 + tf.abs(x))
    if name == "softplus":
        return log_one_plus_exp(x)
    raise NotImplementedError(f"no activation {name!r}")


def clipped(x, clip):
    """``x`` within [-clip, clip]; unchanged if there is no threshold."""
    return x if clip is None else tf.minimum(tf.maximum(x, -clip), clip)


def by_rows(x, w):
    """X W'."""
    return tf.matmul(x, w, transpose_b=True)


def rnn_cell(x, h, state, w, r, b, p, act, clip, option):
    """One step of ONNX RNN: H = f(X W' + H R' + Wb + Rb). Gives (H, nothing)."""
    wb, rb = tf.split(b, 2)
    return activation(act[0][0], clipped(by_rows(x, w) + by_rows(h, r) + wb + rb, clip), *act[0][1:]), state


def gru_cell(x, h, state, w, r, b, p, act, clip, option):
    """One step of ONNX GRU (gates z, r, h); ``option`` is linear_before_reset. Gives (H, nothing)."""
    (wz, wr, wh), (rz, rr, rh) = tf.split(w, 3), tf.split(r, 3)
    bz, br, bh, cz, cr, ch = tf.split(b, 6)
    z = activation(act[0][0], clipped(by_rows(x, wz) + by_rows(h, rz) + bz + cz, clip), *act[0][1:])
    reset = activation(act[0][0], clipped(by_rows(x, wr) + by_rows(h, rr) + br + cr, clip), *act[0][1:])
    inner = reset * (by_rows(h, rh) + ch) if option else by_rows(reset * h, rh) + ch
    new = activation(act[1][0], clipped(by_rows(x, wh) + inner + bh, clip), *act[1][1:])
    return (1 - z) * new + z * h, state


def lstm_cell(x, h, state, w, r, b, p, act, clip, option):
    """One step of ONNX LSTM (gates i, o, f, c; peepholes i, o, f); ``option`` is input_forget. Gives (H, C)."""
    wb, rb = tf.split(b, 2)
    i, o, f, c = tf.split(by_rows(x, w) + by_rows(h, r) + wb + rb, 4, -1)
    pi, po, pf = tf.split(p, 3)
    i = activation(act[0][0], clipped(i + pi * state, clip), *act[0][1:])
    f = 1 - i if option else activation(act[0][0], clipped(f + pf * state, clip), *act[0][1:])
    c = activation(act[1][0], clipped(c, clip), *act[1][1:])
    cell = f * state + i * c
    o = activation(act[0][0], clipped(o + po * cell, clip), *act[0][1:])
    return o * activation(act[2][0], clipped(cell, clip), *act[2][1:]), cell


def recurrent(cell, gates, x, w, r, b, lengths, h0, c0, p, direction, activations, clip, layout, option):
    """Run ``cell`` over time in each direction: (Y, last H, last C).

    x is (time, batch, input), or (batch, time, input) with ``layout`` 1, which also puts the batch first in Y and the
    states. Beyond its length a sequence gives zeros in Y and keeps its states; in reverse it starts at its own end.
    """
    dtype = x.dtype
    x, w, r = single(x), single(w), single(r)
    if layout:
        x = tf.transpose(x, [1, 0, 2])
        h0 = None if h0 is None else tf.transpose(h0, [1, 0, 2])
        c0 = None if c0 is None else tf.transpose(c0, [1, 0, 2])
    steps, batch, _ = dims(x)
    directions, hidden = dims(w)[0], dims(r)[2]
    if not isinstance(steps, int):
        raise NotImplementedError("a number of time steps that the graph computes: only eager runs can read it")
    count = len(activations) // directions
    zeros = tf.zeros([batch, hidden], x.dtype)
    all_y, all_h, all_c = [], [], []
    for d in range(directions):
        act = activations[d * count : (d + 1) * count]
        bias = tf.zeros([2 * gates * hidden], x.dtype) if b is None else single(b[d])
        peephole = tf.zeros([3 * hidden], x.dtype) if p is None else single(p[d])
        h = zeros if h0 is None else single(h0[d])
        c = zeros if c0 is None else single(c0[d])
        y = [zeros] * steps
        backward = direction == "reverse" or d == 1
        for t in reversed(range(steps)) if backward else range(steps):
            new_h, new_c = cell(x[t], h, c, w[d], r[d], bias, peephole, act, clip, option)
            if lengths is None:
                h, c, y[t] = new_h, new_c, new_h
            else:
                # In reverse the steps beyond the end come first and leave the initial states alone.
                alive = tf.reshape(t < lengths, [batch, 1])
                h, c = tf.where(alive, new_h, h), tf.where(alive, new_c, c)
                y[t] = tf.where(alive, new_h, tf.zeros_like(new_h))
        all_y.append(tf.stack(y) if steps else tf.zeros([0, batch, hidden], x.dtype))
        all_h.append(h)
        all_c.append(c)
    y, h, c = tf.stack(all_y, 1), tf.stack(all_h), tf.stack(all_c)
    if layout:
        y, h, c = tf.transpose(y, [2, 0, 1, 3]), tf.transpose(h, [1, 0, 2]), tf.transpose(c, [1, 0, 2])
    return tf.cast(y, dtype), tf.cast(h, dtype), tf.cast(c, dtype)


def rnn(x, w, r, b=None, lengths=None, h0=None, direction="forward", activations=(), clip=None, layout=0):
    """ONNX RNN: (Y, Y_h). ``activations`` holds (name, alpha, beta) for each direction."""
    return recurrent(rnn_cell, 1, x, w, r, b, lengths, h0, None, None, direction, activations, clip, layout, 0)[:2]


def gru(
    x, w, r, b=None, lengths=None, h0=None, direction="forward", activations=(), clip=None, layout=0,
    linear_before_reset=0,
):  # fmt: skip
    """ONNX GRU: (Y, Y_h). ``activations`` holds (name, alpha, beta) of f and g for each direction."""
    return recurrent(
        gru_cell, 3, x, w, r, b, lengths, h0, None, None, direction, activations, clip, layout, linear_before_reset
    )[:2]


def lstm(
    x, w, r, b=None, lengths=None, h0=None, c0=None, p=None, direction="forward", activations=(), clip=None, layout=0,
    input_forget=0,
):  # fmt: skip
    """ONNX LSTM: (Y, Y_h, Y_c). ``activations`` holds (name, alpha, beta) of f, g and h for each direction."""
    return recurrent(lstm_cell, 4, x, w, r, b, lengths, h0, c0, p, direction, activations, clip, layout, input_forget)
