# pyright: basic
"""Recurrent layers: hidden states from sequences and weights."""

from __future__ import annotations

import torch

from irfuzz.export.torch.support.dtype_conversions import single


def activation(name, x, alpha, beta):
    """An activation of ONNX's recurrent operators by name."""
    name = name.lower()
    if name == "relu":
        return torch.relu(x)
    if name == "tanh":
        return torch.tanh(x)
    if name == "sigmoid":
        return torch.sigmoid(x)
    if name == "affine":
        return alpha * x + beta
    if name == "leakyrelu":
        return torch.where(x >= 0, x, alpha * x)
    if name == "thresholdedrelu":
        return torch.where(x >= alpha, x, torch.zeros_like(x))
    if name == "scaledtanh":
        return alpha * torch.tanh(beta * x)
    if name == "hardsigmoid":
        return torch.clamp(alpha * x + beta, 0, 1)
    if name == "elu":
        return torch.where(x >= 0, x, alpha * torch.expm1(x))
    if name == "softsign":
        return x / (1 + torch.abs(x))
    if name == "softplus":
        return torch.logaddexp(x, torch.zeros_like(x))
    raise NotImplementedError(f"no activation {name!r}")


def clipped(x, clip):
    """``x`` within [-clip, clip]; unchanged if there is no threshold."""
    return x if clip is None else torch.clamp(x, -clip, clip)


def rnn_cell(x, h, state, w, r, b, p, act, clip, option):
    """One step of ONNX RNN: H = f(X W' + H R' + Wb + Rb). Gives (H, nothing)."""
    wb, rb = b.chunk(2)
    return activation(act[0][0], clipped(x @ w.T + h @ r.T + wb + rb, clip), *act[0][1:]), state


def gru_cell(x, h, state, w, r, b, p, act, clip, option):
    """One step of ONNX GRU (gates z, r, h); ``option`` is linear_before_reset. Gives (H, nothing)."""
    (wz, wr, wh), (rz, rr, rh) = w.chunk(3), r.chunk(3)
    bz, br, bh, cz, cr, ch = b.chunk(6)
    z = activation(act[0][0], clipped(x @ wz.T + h @ rz.T + bz + cz, clip), *act[0][1:])
    reset = activation(act[0][0], clipped(x @ wr.T + h @ rr.T + br + cr, clip), *act[0][1:])
    inner = reset * (h @ rh.T + ch) if option else (reset * h) @ rh.T + ch
    new = activation(act[1][0], clipped(x @ wh.T + inner + bh, clip), *act[1][1:])
    return (1 - z) * new + z * h, state


def lstm_cell(x, h, state, w, r, b, p, act, clip, option):
    """One step of ONNX LSTM (gates i, o, f, c; peepholes i, o, f); ``option`` is input_forget. Gives (H, C)."""
    wb, rb = b.chunk(2)
    i, o, f, c = (x @ w.T + h @ r.T + wb + rb).chunk(4, -1)
    pi, po, pf = p.chunk(3)
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
        x = x.transpose(0, 1)
        h0 = None if h0 is None else h0.transpose(0, 1)
        c0 = None if c0 is None else c0.transpose(0, 1)
    steps, batch, _ = x.shape
    hidden = r.shape[2]
    count = len(activations) // w.shape[0]
    all_y, all_h, all_c = [], [], []
    for d in range(w.shape[0]):
        act = activations[d * count : (d + 1) * count]
        bias = x.new_zeros(2 * gates * hidden) if b is None else single(b[d])
        peephole = x.new_zeros(3 * hidden) if p is None else single(p[d])
        h = x.new_zeros(batch, hidden) if h0 is None else single(h0[d])
        c = x.new_zeros(batch, hidden) if c0 is None else single(c0[d])
        y = [x.new_zeros(batch, hidden)] * steps
        backward = direction == "reverse" or d == 1
        for t in reversed(range(steps)) if backward else range(steps):
            new_h, new_c = cell(x[t], h, c, w[d], r[d], bias, peephole, act, clip, option)
            if lengths is None:
                h, c, y[t] = new_h, new_c, new_h
            else:
                # In reverse the steps beyond the end come first and leave the initial states alone.
                alive = (t < lengths).reshape(batch, 1)
                h, c = torch.where(alive, new_h, h), torch.where(alive, new_c, c)
                y[t] = torch.where(alive, new_h, torch.zeros_like(new_h))
        all_y.append(torch.stack(y) if steps else x.new_zeros(0, batch, hidden))
        all_h.append(h)
        all_c.append(c)
    y, h, c = torch.stack(all_y, 1), torch.stack(all_h), torch.stack(all_c)
    if layout:
        y, h, c = y.permute(2, 0, 1, 3), h.transpose(0, 1), c.transpose(0, 1)
    return y.to(dtype), h.to(dtype), c.to(dtype)


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
