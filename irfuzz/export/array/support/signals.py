# pyright: basic
"""Spectra, windows and filters of signals, in float64 with one rounding at the end."""

from __future__ import annotations

import math

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, doubled, number


def hann_window(size, output_datatype, periodic=1):
    """ONNX HannWindow."""
    return cosine_window(size, (0.5, 0.5), periodic, output_datatype)


def hamming_window(size, output_datatype, periodic=1):
    """ONNX HammingWindow, with the fractions of its function body."""
    return cosine_window(size, (25 / 46, 21 / 46), periodic, output_datatype)


def blackman_window(size, output_datatype, periodic=1):
    """ONNX BlackmanWindow."""
    return cosine_window(size, (0.42, 0.5, 0.08), periodic, output_datatype)


def cosine_window(size, weights, periodic, dtype):
    """``sum (-1)**i * weights[i] * cos(2 pi i n / N)`` for n below ``size``; N is ``size``, one less if symmetric."""
    count = number(size)
    turn = 2 * math.pi * np.arange(count) / np.float64(count if periodic else count - 1)
    return cast(sum((-1) ** i * weight * np.cos(i * turn) for i, weight in enumerate(weights)), dtype)


def complex_of(x):
    """A signal whose last axis holds real parts, or real and imaginary ones, without that axis."""
    parts = doubled(x)
    return parts[..., 0] + (1j * parts[..., 1] if x.shape[-1] == 2 else 0j)


def parted(z):
    """Complex numbers as real and imaginary parts along a new last axis."""
    return np.stack([z.real, z.imag], -1)


def dft(x, length=None, axis=-2, *, inverse=0, onesided=0):
    """ONNX DFT along an axis; the last one holds real and imaginary parts."""
    axis = number(axis) % x.ndim
    count = None if length is None else number(length)
    if onesided and inverse:
        return cast(np.fft.irfft(complex_of(x), count, axis)[..., None], x.dtype)
    if onesided:
        return cast(parted(np.fft.rfft(doubled(x)[..., 0], count, axis)), x.dtype)
    return cast(parted((np.fft.ifft if inverse else np.fft.fft)(complex_of(x), count, axis)), x.dtype)


def stft(x, step, window=None, length=None, onesided=1):
    """ONNX STFT of (batch, samples, 1 or 2): (batch, frames, frequencies, 2)."""
    count = number(length) if length is not None else x.shape[1] if window is None else window.shape[0]
    signal = complex_of(x)
    starts = range(0, x.shape[1] - count + 1, number(step))
    frames = np.stack([signal[:, start : start + count] for start in starts], 1)
    frames = frames if window is None else frames * doubled(window)
    return cast(parted(np.fft.rfft(np.real(frames)) if onesided else np.fft.fft(frames)), x.dtype)


def mel_weights(bins, length, rate, low, high, output_datatype):
    """ONNX MelWeightMatrix: triangles between neighbouring mel frequencies, (length // 2 + 1, bins)."""
    bins, length, rate = number(bins), number(length), number(rate)
    start, end = (2595 * math.log10(1 + number(hertz) / 700) for hertz in (low, high))
    mels = (start + i * (end - start) / (bins + 2) for i in range(bins + 2))
    places = [int((length + 1) * (700 * (10 ** (mel / 2595) - 1)) // rate) for mel in mels]
    i = np.arange(length // 2 + 1)
    columns = []
    for first, top, last in zip(places, places[1:], places[2:], strict=False):
        up = (
            np.where((i >= first) & (i <= top), (i - first) / np.float64(top - first), 0.0) if top > first else i == top
        )
        columns.append(np.where((i >= top) & (i < last), (last - i) / np.float64(last - top), up) if last > top else up)
    return cast(np.stack(columns, 1).astype(np.float64), output_datatype)
