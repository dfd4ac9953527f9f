# pyright: basic
"""Operators of language models, on queries, keys, values and caches."""

from __future__ import annotations

import math

import torch

from irfuzz.export.torch.support.dtype_conversions import bits, single, unbits


def swiglu(a, b, alpha=1.0):
    """ONNX SwiGLU."""
    gate, value = single(a), single(b)
    return (gate * torch.sigmoid(alpha * gate) * value).to(a.dtype)


def tensor_scatter(cache, update, places=None, axis=-2, mode="linear"):
    """ONNX TensorScatter: ``update`` over ``cache`` from a place for each row of the batch on."""
    axis %= cache.dim()
    result = bits(cache).clone().movedim(axis, 1)
    new, room = bits(update).movedim(axis, 1), cache.shape[axis]
    for row in range(cache.shape[0]):
        start = 0 if places is None else int(places[row])
        at = torch.arange(start, start + new.shape[1])
        result[row, at % room if mode == "circular" else at] = new[row]
    return unbits(result.movedim(1, axis), cache.dtype)


def rotary_embedding(x, cos, sin, positions=None, heads=0, width=0, interleaved=0):
    """ONNX RotaryEmbedding of (batch, heads, tokens, size) or (batch, tokens, heads * size)."""
    split = x.reshape(*x.shape[:2], heads, -1) if x.dim() == 3 else x.transpose(1, 2)
    width = width or split.shape[-1]
    turned, kept = single(split[..., :width]), split[..., width:]
    if positions is not None:
        cos, sin = cos[positions], sin[positions]
    cos, sin = single(cos).unsqueeze(2), single(sin).unsqueeze(2)
    if interleaved:
        one, two = turned[..., 0::2], turned[..., 1::2]
    else:
        one, two = turned.chunk(2, -1)
    real, imaginary = cos * one - sin * two, sin * one + cos * two
    if interleaved:
        turned = torch.stack([real, imaginary], -1).flatten(-2)
    else:
        turned = torch.cat([real, imaginary], -1)
    result = torch.cat([turned.to(x.dtype), kept], -1)
    return result.reshape(x.shape) if x.dim() == 3 else result.transpose(1, 2)


def causal_conv(x, w, b=None, past=None, activation="none"):
    """ONNX CausalConvWithState: (output, the last inputs)."""
    room = w.shape[2] - 1
    before = torch.zeros(*x.shape[:2], room, dtype=x.dtype) if past is None else past
    whole = torch.cat([before, x], 2)
    result = (single(whole).unfold(2, w.shape[2], 1) * single(w)).sum(-1)
    if b is not None:
        result = result + single(b).reshape(1, -1, 1)
    if activation in ("silu", "swish"):
        result = result * torch.sigmoid(result)
    return result.to(x.dtype), whole[:, :, whole.shape[2] - room :]


def attention(
    q, k, v, mask=None, past_key=None, past_value=None, valid=None, *, heads=0, kv_heads=0, scale=None, causal=0,
    softcap=0.0, left=-1, right=-1, shown=0,
):  # fmt: skip
    """ONNX Attention: (Y, present key, present value, the scores asked for), computed in float32 or wider."""
    flat = q.dim() == 3
    if flat:
        q, k, v = (
            t.reshape(*t.shape[:2], h, -1).transpose(1, 2) for t, h in ((q, heads), (k, kv_heads), (v, kv_heads))
        )
    offset = torch.zeros(q.shape[0], dtype=torch.int64)
    if past_key is not None and past_value is not None:
        offset = offset + past_key.shape[2]
        k, v = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
    elif valid is not None:
        offset = valid - q.shape[2]
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    times = q.shape[1] // k.shape[1]
    keys, values = (single(t).repeat_interleave(times, 1) for t in (k, v))
    raw = torch.matmul(single(q) * math.sqrt(scale), keys.transpose(2, 3) * math.sqrt(scale))
    capped = softcap * torch.tanh(raw / softcap) if softcap else raw
    tokens, total = q.shape[2], keys.shape[2]
    bias = torch.zeros(1, 1, tokens, total, dtype=raw.dtype)
    never = torch.tensor(-math.inf, dtype=raw.dtype)
    if mask is not None:
        given = torch.where(mask, 0.0, never) if mask.dtype == torch.bool else single(mask)
        given = torch.nn.functional.pad(given, (0, total - given.shape[-1]), value=-math.inf)
        bias = bias + given
    row = torch.arange(tokens).reshape(1, 1, -1, 1) + offset.reshape(-1, 1, 1, 1)
    column = torch.arange(total).reshape(1, 1, 1, -1)
    hidden = torch.zeros(1, 1, tokens, total, dtype=torch.bool)
    if causal:
        hidden = hidden | (column > row)
    if left >= 0:
        hidden = hidden | (column < row - left)
    if right >= 0:
        hidden = hidden | (column > row + right)
    if valid is not None:
        hidden = hidden | (column >= valid.reshape(-1, 1, 1, 1))
    bias = torch.where(hidden, never, bias)
    biased = capped + bias
    # A row of which every key is hidden is zero (Attention-25); before, ONNX does not say.
    weights = torch.where((biased == -math.inf).all(-1, keepdim=True), 0.0, torch.softmax(biased, -1))
    y = torch.matmul(weights.to(torch.promote_types(weights.dtype, values.dtype)), values).to(q.dtype)
    if flat:
        y = y.transpose(1, 2).flatten(2)
    return y, k, v, (raw, capped, biased, weights)[shown].to(q.dtype)


def linear_attention(q, k, v, state=None, decay=None, beta=None, *, heads, kv_heads, scale=0.0):
    """ONNX LinearAttention: (output, state), one token after the other, computed in float32 or wider."""
    out_type, state_type = q.dtype, q.dtype if state is None else state.dtype
    b, steps = q.shape[:2]
    q, k, v = (single(t).reshape(b, steps, h, -1) for t, h in ((q, heads), (k, kv_heads), (v, kv_heads)))
    size = q.shape[-1]
    scale = scale or 1 / math.sqrt(size)
    memory = torch.zeros(b, kv_heads, size, v.shape[-1], dtype=q.dtype) if state is None else single(state)
    fade = None if decay is None else torch.exp(single(decay).reshape(b, steps, kv_heads, -1, 1))
    rate = None if beta is None else single(beta).reshape(b, steps, -1, 1)
    rows = []
    for t in range(steps):
        if fade is not None:
            memory = memory * fade[:, t]
        value = v[:, t]
        if rate is not None:
            value = rate[:, t] * (value - torch.matmul(k[:, t].unsqueeze(2), memory).squeeze(2))
        memory = memory + k[:, t].unsqueeze(-1) * value.unsqueeze(-2)
        asked = q[:, t].reshape(b, kv_heads, heads // kv_heads, size)
        rows.append((scale * torch.matmul(asked, memory)).reshape(b, -1))
    return torch.stack(rows, 1).to(out_type), memory.to(state_type)
