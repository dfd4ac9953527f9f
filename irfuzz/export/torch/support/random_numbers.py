# pyright: basic
"""Random numbers, repeatable: each seed has a generator of its own, and without one it is always the same."""

from __future__ import annotations

import numpy as np
import torch


def generator(seed):
    """A generator of numbers, on the device on which tensors are made; ONNX's seeds are floats."""
    bits = 0 if seed is None else int(np.float64(seed).view(np.int64))
    return torch.Generator(torch.get_default_device()).manual_seed(bits % 2147483647)


def random_normal(shape, mean, scale, dtype, seed=None):
    """Normally distributed numbers."""
    return (torch.randn(shape, generator=generator(seed), dtype=torch.float64) * scale + mean).to(dtype)


def random_uniform(shape, high, low, dtype, seed=None):
    """Numbers distributed uniformly between two limits."""
    return (torch.rand(shape, generator=generator(seed), dtype=torch.float64) * (high - low) + low).to(dtype)


def bernoulli(x, dtype, seed=None):
    """1 with the probability that each element states, else 0."""
    drawn = torch.rand(x.shape, generator=generator(seed), dtype=torch.float64)
    return (drawn < x.to(torch.float64)).to(dtype)


def multinomial(x, count, dtype, seed=None):
    """Indices of columns, drawn by unnormalised log-probabilities."""
    chances = torch.softmax(x.to(torch.float64), 1)
    return torch.multinomial(chances, count, replacement=True, generator=generator(seed)).to(dtype)


def training_dropout(x, ratio, training, seed=None):
    """Elements dropped with a probability, the others scaled so that the mean stays; and which were kept."""
    share = 0.5 if ratio is None else float(ratio)
    if not bool(training) or share == 0:
        return x, torch.ones_like(x, dtype=torch.bool)
    kept = torch.rand(x.shape, generator=generator(seed), dtype=torch.float64) >= share
    return torch.where(kept, x / (1 - share), 0).to(x.dtype), kept
