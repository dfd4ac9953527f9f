# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Operators of language models, on queries, keys, values and caches."""

from __future__ import annotations

import math

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims
from irfuzz.export.tensorflow.support.dtype_conversions import cast, single


def swiglu(a, b, alpha=1.0):
    """ONNX SwiGLU."""
    gate, value = single(a), single(b)
    return tf.cast(gate * tf.sigmoid(alpha * gate) * value, a.dtype)


def tensor_scatter(cache, update, places=None, axis=-2, mode="linear"):
    """ONNX TensorScatter: ``update`` over ``cache`` from a place for each row of the batch on."""
    rank = len(cache.shape)
    axis %= rank
    order = [0, axis, *(i for i in range(1, rank) if i != axis)]
    old, new = tf.transpose(cache, order), tf.transpose(update, order)
    rows, room, count = dims(old)[0], dims(old)[1], dims(new)[1]
    start = tf.zeros([rows], tf.int64) if places is None else tf.cast(places, tf.int64)
    source = tf.expand_dims(tf.range(tf.cast(room, tf.int64)), 0) - tf.expand_dims(start, 1)
    if mode == "circular":
        source = tf.math.floormod(source, room)
    written = tf.reshape((source >= 0) & (source < count), [rows, room, *(1,) * (rank - 2)])
    moved = tf.gather(new, tf.clip_by_value(source, 0, max(count - 1, 0)), axis=1, batch_dims=1) if count else old
    back = [order.index(i) for i in range(rank)]
    return tf.transpose(tf.where(written, moved, old), back)


def rotary_embedding(x, cos, sin, positions=None, heads=0, width=0, interleaved=0):
    """ONNX RotaryEmbedding of (batch, heads, tokens, size) or (batch, tokens, heads * size)."""
    shape = dims(x)
    flat = len(shape) == 3
    split = tf.reshape(x, [*shape[:2], heads, shape[2] // heads]) if flat else tf.transpose(x, [0, 2, 1, 3])
    width = width or dims(split)[-1]
    turned, kept = single(split[..., :width]), split[..., width:]
    if positions is not None:
        cos, sin = tf.gather(cos, positions), tf.gather(sin, positions)
    cos, sin = tf.expand_dims(single(cos), 2), tf.expand_dims(single(sin), 2)
    if interleaved:
        one, two = turned[..., 0::2], turned[..., 1::2]
    else:
        one, two = tf.split(turned, 2, -1)
    real, imaginary = cos * one - sin * two, sin * one + cos * two
    if interleaved:
        turned = tf.reshape(tf.stack([real, imaginary], -1), [*dims(real)[:-1], width])
    else:
        turned = tf.concat([real, imaginary], -1)
    result = tf.concat([tf.cast(turned, x.dtype), kept], -1)
    return tf.reshape(result, shape) if flat else tf.transpose(result, [0, 2, 1, 3])


def causal_conv(x, w, b=None, past=None, activation="none"):
    """ONNX CausalConvWithState: (output, the last inputs)."""
    batch, channels, _ = dims(x)
    taps = dims(w)[2]
    before = tf.zeros([batch, channels, taps - 1], x.dtype) if past is None else past
    whole = tf.concat([before, x], 2)
    data, weights = single(whole), single(w)
    last = dims(whole)[2] - taps + 1
    result = sum(data[:, :, k : k + last] * weights[:, 0, k, None] for k in range(taps))
    if b is not None:
        result = result + tf.reshape(single(b), [1, -1, 1])
    if activation in ("silu", "swish"):
        result = result * tf.sigmoid(result)
    return tf.cast(result, x.dtype), whole[:, :, last:]


def attention(
    q, k, v, mask=None, past_key=None, past_value=None, valid=None, *, heads=0, kv_heads=0, scale=None, causal=0,
    softcap=0.0, left=-1, right=-1, shown=0,
):  # fmt: skip
    """ONNX Attention: (Y, present key, present value, the scores asked for), computed in float32 or wider."""
    flat = len(q.shape) == 3
    if flat:
        q, k, v = (in_heads(t, h) for t, h in ((q, heads), (k, kv_heads), (v, kv_heads)))
    batch, query_heads, tokens, size = dims(q)
    offset = tf.zeros([batch], tf.int64)
    if past_key is not None and past_value is not None:
        offset = offset + tf.cast(dims(past_key)[2], tf.int64)
        k, v = tf.concat([past_key, k], 2), tf.concat([past_value, v], 2)
    elif valid is not None:
        offset = valid - tf.cast(tokens, tf.int64)
    scale = 1 / math.sqrt(size) if scale is None else scale
    times = query_heads // dims(k)[1]
    keys, values = (tf.repeat(single(t), times, 1) for t in (k, v))
    raw = tf.matmul(single(q) * math.sqrt(scale), keys * math.sqrt(scale), transpose_b=True)
    capped = softcap * tf.tanh(raw / softcap) if softcap else raw
    total = dims(keys)[2]
    never = tf.constant(-math.inf, raw.dtype)
    bias = tf.zeros([1, 1, tokens, total], raw.dtype)
    if mask is not None:
        given = tf.where(mask, tf.zeros_like(never), never) if mask.dtype == tf.bool else single(mask)
        room = [(0, 0)] * (len(mask.shape) - 1) + [(0, total - dims(mask)[-1])]
        bias = bias + tf.pad(given, room, constant_values=tf.cast(never, given.dtype))
    row = tf.reshape(tf.range(tokens, dtype=tf.int64), [1, 1, -1, 1]) + tf.reshape(offset, [-1, 1, 1, 1])
    column = tf.reshape(tf.range(total, dtype=tf.int64), [1, 1, 1, -1])
    hidden = tf.zeros([1, 1, tokens, total], tf.bool)
    if causal:
        hidden = hidden | (column > row)
    if left >= 0:
        hidden = hidden | (column < row - left)
    if right >= 0:
        hidden = hidden | (column > row + right)
    if valid is not None:
        hidden = hidden | (column >= tf.reshape(valid, [-1, 1, 1, 1]))
    biased = capped + tf.where(hidden, never, bias)
    # A row of which every key is hidden is zero (Attention-25); before, ONNX does not say.
    none = tf.reduce_all(biased == never, -1, keepdims=True)
    weights = tf.where(none, tf.zeros_like(biased), tf.nn.softmax(biased, -1))
    y = cast(tf.matmul(weights, values), q.dtype)
    if flat:
        y = tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [batch, tokens, query_heads * dims(v)[3]])
    return y, k, v, cast((raw, capped, biased, weights)[shown], q.dtype)


def in_heads(x, heads):
    """(batch, tokens, heads * size) as (batch, heads, tokens, size)."""
    shape = dims(x)
    return tf.transpose(tf.reshape(x, [*shape[:2], heads, shape[2] // heads]), [0, 2, 1, 3])


def linear_attention(q, k, v, state=None, decay=None, beta=None, *, heads, kv_heads, scale=0.0):
    """ONNX LinearAttention: (output, state), one token after the other, computed in float32 or wider."""
    out_type, state_type = q.dtype, q.dtype if state is None else state.dtype
    b, steps = dims(q)[:2]
    q, k, v = (
        tf.reshape(single(t), [b, steps, h, dims(t)[2] // h]) for t, h in ((q, heads), (k, kv_heads), (v, kv_heads))
    )
    size = dims(q)[-1]
    scale = scale or 1 / math.sqrt(size)
    memory = tf.zeros([b, kv_heads, size, dims(v)[-1]], q.dtype) if state is None else single(state)
    fade = None
    if decay is not None:
        fade = tf.exp(tf.reshape(single(decay), [b, steps, kv_heads, dims(decay)[2] // kv_heads, 1]))
    rate = None if beta is None else tf.reshape(single(beta), [b, steps, dims(beta)[2], 1])
    rows = []
    for t in range(steps):
        if fade is not None:
            memory = memory * fade[:, t]
        value = v[:, t]
        if rate is not None:
            value = rate[:, t] * (value - tf.squeeze(tf.matmul(tf.expand_dims(k[:, t], 2), memory), 2))
        memory = memory + tf.expand_dims(k[:, t], -1) * tf.expand_dims(value, -2)
        asked = tf.reshape(q[:, t], [b, kv_heads, heads // kv_heads, size])
        rows.append(tf.reshape(scale * tf.matmul(asked, memory), [b, heads * dims(v)[-1]]))
    return cast(tf.stack(rows, 1), out_type), cast(memory, state_type)
