# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Spectra, windows and filters of signals; all in float64 with one rounding at the end."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import dims, known
from irfuzz.export.tensorflow.support.dtype_conversions import cast
from irfuzz.export.tensorflow.support.reductions import axis_number


def cosine_window(size, weights, periodic, dtype):
    """``sum (-1)**i * weights[i] * cos(2 pi i n / N)`` for n below ``size``; N is ``size``, one less if symmetric."""
    count = int(known(size))
    with np.errstate(all="ignore"):
        steps = np.arange(count, dtype=np.float64) * (2 * math.pi) / np.float64(count if periodic else count - 1)
        window = sum((-1) ** i * w * np.cos(i * steps) for i, w in enumerate(weights))
    return cast(tf.constant(window, tf.float64), dtype)


def as_complex(x):
    """A signal whose last axis holds real parts, or real and imaginary parts, as complex numbers without that axis."""
    x = tf.cast(x, tf.float64)
    return tf.complex(x[..., 0], x[..., 1] if x.shape[-1] == 2 else tf.zeros_like(x[..., 0]))


def as_pairs(x):
    """Complex numbers as real and imaginary parts along a new last axis."""
    return tf.stack([tf.math.real(x), tf.math.imag(x)], -1)


def fitted(x, count):
    """``x`` cut or filled with zeros to ``count`` elements along its last axis."""
    have = dims(x)[-1]
    return tf.pad(x[..., :count], [(0, 0)] * (len(x.shape) - 1) + [(0, max(count - have, 0))])


def dft(x, length=None, axis=-2, inverse=0, onesided=0):
    """ONNX DFT along an axis; the last one holds real and imaginary parts."""
    rank = len(x.shape)
    axis = axis_number(axis) % rank
    signal = as_complex(x)
    order = [*(i for i in range(rank - 1) if i != axis), axis]
    back = [order.index(i) for i in range(rank - 1)]
    signal = tf.transpose(signal, order)
    count = None if length is None else int(known(length))
    if onesided and inverse:
        count = 2 * (dims(x)[axis] - 1) if count is None else count
        signal = tf.signal.irfft(fitted(signal, count // 2 + 1), [count])
        return cast(tf.expand_dims(tf.transpose(signal, back), -1), x.dtype)
    count = dims(x)[axis] if count is None else count
    signal = fitted(signal, count)
    if onesided:
        result = tf.signal.rfft(tf.math.real(signal))
    else:
        result = tf.signal.ifft(signal) if inverse else tf.signal.fft(signal)
    return cast(as_pairs(tf.transpose(result, back)), x.dtype)


def stft(x, step, window=None, length=None, onesided=1):
    """ONNX STFT of (batch, samples, 1 or 2): (batch, frames, frequencies, 2)."""
    count = dims(x)[1] if window is None else dims(window)[0]
    count = count if length is None else int(known(length))
    step = int(known(step))
    starts = np.arange((dims(x)[1] - count) // step + 1) * step
    frames = tf.gather(as_complex(x), starts[:, None] + np.arange(count)[None, :], axis=1)
    if window is not None:
        frames = frames * tf.cast(tf.cast(window, tf.float64), tf.complex128)
    result = tf.signal.rfft(tf.math.real(frames)) if onesided else tf.signal.fft(frames)
    return cast(as_pairs(result), x.dtype)


def mel_weights(bins, length, rate, low, high, dtype):
    """ONNX MelWeightMatrix: triangles between neighbouring mel frequencies, (length // 2 + 1, bins)."""
    bins, length, rate = int(known(bins)), int(known(length)), int(known(rate))
    first, last = (2595 * math.log10(1 + float(known(edge)) / 700) for edge in (low, high))
    mels = [first + i * (last - first) / (bins + 2) for i in range(bins + 2)]
    edges = [int((length + 1) * (700 * (10 ** (mel / 2595) - 1)) // rate) for mel in mels]
    result = np.zeros((length // 2 + 1, bins))
    for i, (lower, center, upper) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        if center == lower:
            result[center, i] = 1
        for j in range(lower, center + 1 if center > lower else lower):
            result[j, i] = (j - lower) / (center - lower)
        for j in range(center, upper):
            result[j, i] = (upper - j) / (upper - center)
    return cast(tf.constant(result), dtype)
