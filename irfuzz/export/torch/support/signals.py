# pyright: basic
"""Spectra, windows and filters of signals; all in float64 with one rounding at the end."""

from __future__ import annotations

import math

import torch

from irfuzz.export.torch.support.dtype_conversions import cast


def cosine_window(size, weights, periodic, dtype):
    """``sum (-1)**i * weights[i] * cos(2 pi i n / N)`` for n below ``size``; N is ``size``, one less if symmetric."""
    count = int(size)
    steps = torch.arange(count, dtype=torch.float64) * (2 * math.pi) / torch.tensor(count if periodic else count - 1.0)
    window = sum((-1) ** i * w * torch.cos(i * steps) for i, w in enumerate(weights))
    return cast(window, dtype)


def as_complex(x):
    """A signal whose last axis holds real parts, or real and imaginary parts, as complex numbers without that axis."""
    x = x.double()
    imaginary = x[..., 1] if x.shape[-1] == 2 else torch.zeros_like(x[..., 0])
    return torch.complex(x[..., 0], imaginary)


def dft(x, length=None, axis=-2, inverse=0, onesided=0):
    """ONNX DFT along an axis; the last one holds real and imaginary parts."""
    axis = int(axis) % x.dim()
    count = None if length is None else int(length)
    if onesided and inverse:
        count = 2 * (x.shape[axis] - 1) if count is None else count
        return torch.fft.irfft(as_complex(x), count, axis).unsqueeze(-1).to(x.dtype)
    count = x.shape[axis] if count is None else count
    if onesided:
        result = torch.fft.rfft(x[..., 0].double(), count, axis)
    else:
        result = (torch.fft.ifft if inverse else torch.fft.fft)(as_complex(x), count, axis)
    return torch.view_as_real(result).to(x.dtype)


def stft(x, step, window=None, length=None, onesided=1):
    """ONNX STFT of (batch, samples, 1 or 2): (batch, frames, frequencies, 2)."""
    count = x.shape[1] if window is None else len(window)
    count = count if length is None else int(length)
    frames = as_complex(x).unfold(1, count, int(step))
    if window is not None:
        frames = frames * window.double()
    result = torch.fft.rfft(frames.real) if onesided else torch.fft.fft(frames)
    return torch.view_as_real(result).to(x.dtype)


def mel_weights(bins, length, rate, low, high, dtype):
    """ONNX MelWeightMatrix: triangles between neighbouring mel frequencies, (length // 2 + 1, bins)."""
    bins, length, rate = int(bins), int(length), int(rate)
    first, last = (2595 * math.log10(1 + float(edge) / 700) for edge in (low, high))
    mels = [first + i * (last - first) / (bins + 2) for i in range(bins + 2)]
    edges = [int((length + 1) * (700 * (10 ** (mel / 2595) - 1)) // rate) for mel in mels]
    result = torch.zeros(length // 2 + 1, bins, dtype=torch.float64)
    for i, (lower, center, upper) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        if center == lower:
            result[center, i] = 1
        for j in range(lower, center + 1 if center > lower else lower):
            result[j, i] = (j - lower) / (center - lower)
        for j in range(center, upper):
            result[j, i] = (upper - j) / (upper - center)
    return cast(result, dtype)
