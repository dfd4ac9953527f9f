# pyright: basic
"""Attention, caches and positions of language models, computed in float64."""

from __future__ import annotations

import math

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, wide
from irfuzz.export.array.support.elementwise import logistic, soft_max


def swiglu(a, b, alpha=1.0):
    """ONNX SwiGLU."""
    return cast(wide(a) * logistic(alpha * wide(a)) * wide(b), a.dtype)


def tensor_scatter(cache, update, places=None, axis=-2, mode="linear"):
    """ONNX TensorScatter: ``update`` over ``cache`` from a place for each row of the batch on."""
    rows = []
    for row in range(cache.shape[0]):
        at = int(places[row]) if places is not None else 0
        old, new = (np.moveaxis(t[row], axis % cache.ndim - 1, 0) for t in (cache, update))
        index = at + np.arange(len(new))
        index = index % len(old) if mode == "circular" else index
        if len(index) and index[-1] >= len(old):
            raise IndexError(f"an update of {len(new)} from {at} on ends beyond a cache of {len(old)}")
        fresh = np.array(old)
        fresh[index] = new
        rows.append(np.moveaxis(fresh, 0, axis % cache.ndim - 1))
    return np.stack(rows) if rows else cache


def rotary_embedding(x, cos, sin, positions=None, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    """ONNX RotaryEmbedding of (batch, heads, tokens, size) or (batch, tokens, heads * size)."""
    tokens = x.reshape((*x.shape[:2], num_heads, x.shape[2] // num_heads)) if x.ndim == 3 else np.swapaxes(x, 1, 2)
    width = rotary_embedding_dim or tokens.shape[-1]
    c, s = (wide(t if positions is None else t[positions])[:, :, None] for t in (cos, sin))
    w = wide(tokens[..., :width])
    one, two = (w[..., 0::2], w[..., 1::2]) if interleaved else (w[..., : width // 2], w[..., width // 2 :])
    turned = (c * one - s * two, s * one + c * two)
    if interleaved:
        both = np.stack(turned, -1).reshape(w.shape)
    else:
        both = np.concatenate(turned, -1)
    result = np.concatenate([cast(both, x.dtype), tokens[..., width:]], -1)
    return result.reshape(x.shape) if x.ndim == 3 else np.swapaxes(result, 1, 2)


def causal_conv(x, w, b=None, past=None, activation="none"):
    """ONNX CausalConvWithState: (output, the last inputs)."""
    before = w.shape[2] - 1
    history = np.zeros((*x.shape[:2], before), x.dtype) if past is None else past
    line = np.concatenate([history, x], 2)
    result = sum(wide(line)[:, :, i : i + x.shape[2]] * wide(w)[:, 0, i, None] for i in range(w.shape[2]))
    result = result if b is None else result + wide(b)[:, None]
    if activation in ("silu", "swish"):
        result = result * logistic(result)
    return cast(result, x.dtype), line[:, :, line.shape[2] - before :]


def headed(t, heads):
    """(batch, tokens, heads * size) as (batch, heads, tokens, size)."""
    return np.swapaxes(t.reshape((*t.shape[:2], heads, t.shape[2] // heads)), 1, 2)


def attention(
    q, k, v, mask=None, past_key=None, past_value=None, valid=None, *, q_num_heads=0, kv_num_heads=0, scale=None,
    is_causal=0, softcap=0.0, left_window_size=-1, right_window_size=-1, qk_matmul_output_mode=0,
):  # fmt: skip
    """ONNX Attention: (Y, present key, present value, the scores asked for)."""
    flat = q.ndim == 3
    if flat:
        q, k, v = headed(q, q_num_heads), headed(k, kv_num_heads), headed(v, kv_num_heads)
    first = np.zeros(q.shape[0], np.int64)
    if past_key is not None and past_value is not None:
        first = first + past_key.shape[2]
        k, v = np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2)
    elif valid is not None:
        first = valid - q.shape[2]
    share = q.shape[1] // k.shape[1]
    keys, values = (np.repeat(wide(t), share, 1) for t in (k, v))
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    raw = factor * np.matmul(wide(q), np.swapaxes(keys, 2, 3))
    capped = softcap * np.tanh(raw / softcap) if softcap else raw
    tokens, total = raw.shape[2:]
    bias = np.zeros((1, 1, tokens, total))
    if mask is not None:
        given = np.where(mask, 0.0, -np.inf) if mask.dtype == np.bool_ else wide(mask)
        missing = np.full((*given.shape[:-1], total - given.shape[-1]), -np.inf)
        bias = bias + np.concatenate([given, missing], -1)
    row = np.arange(tokens)[:, None] + first.reshape((-1, 1, 1, 1))
    column = np.arange(total)
    seen = np.ones((1, 1, tokens, total), np.bool_)
    if is_causal:
        seen = seen & (column <= row)
    if left_window_size >= 0:
        seen = seen & (column >= row - left_window_size)
    if right_window_size >= 0:
        seen = seen & (column <= row + right_window_size)
    if valid is not None:
        seen = seen & (column < valid.reshape((-1, 1, 1, 1)))
    biased = capped + np.where(seen, bias, -np.inf)
    # A row of which every key is hidden is zero (Attention-25); before, ONNX does not say.
    nothing = np.all(biased == -np.inf, -1, keepdims=True)
    shares = np.where(nothing, 0.0, soft_max(biased, -1)[0])
    y = cast(np.matmul(shares, values), q.dtype)
    if flat:
        y = np.swapaxes(y, 1, 2).reshape((y.shape[0], tokens, y.shape[1] * y.shape[3]))
    return y, k, v, cast((raw, capped, biased, shares)[qk_matmul_output_mode], q.dtype)


def linear_attention(
    q, k, v, state=None, decay=None, beta=None, *, q_num_heads, kv_num_heads, scale=0.0, update_rule="gated_delta"
):
    """ONNX LinearAttention: (output, state), one token after the other; its rule needs decay, beta, both or none."""
    heads, kv_heads = q_num_heads, kv_num_heads
    decay = decay if update_rule.startswith("gated") else None
    beta = beta if update_rule.endswith("delta") else None
    batch, steps = q.shape[:2]
    asked, keys, values = (
        wide(t).reshape((batch, steps, h, t.shape[2] // h)) for t, h in ((q, heads), (k, kv_heads), (v, kv_heads))
    )
    size = asked.shape[-1]
    memory = np.zeros((batch, kv_heads, size, values.shape[-1])) if state is None else wide(state)
    fade = None if decay is None else np.exp(wide(decay)).reshape((batch, steps, kv_heads, -1, 1))
    rate = None if beta is None else wide(beta).reshape((batch, steps, -1, 1))
    rows = []
    for t in range(steps):
        memory = memory if fade is None else memory * fade[:, t]
        new = values[:, t]
        if rate is not None:
            new = rate[:, t] * (new - np.einsum("bhd,bhdv->bhv", keys[:, t], memory))
        memory = memory + np.einsum("bhd,bhv->bhdv", keys[:, t], new)
        grouped = asked[:, t].reshape((batch, kv_heads, heads // kv_heads, size))
        rows.append(np.einsum("bhgd,bhdv->bhgv", grouped, memory).reshape((batch, -1)))
    output = np.stack(rows, 1) * (scale or 1 / math.sqrt(size))
    return cast(output, q.dtype), cast(memory, q.dtype if state is None else state.dtype)
