# pyright: basic
"""Random numbers, repeatable: a seed enters a generator of its own, and without one it is always the same."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.elementwise import soft_max
from irfuzz.export.array.support.numbers import cast, doubled, number


def generator(seed):
    """A generator of numbers; ONNX's seeds are floats."""
    return np.random.default_rng(0 if seed is None else int(np.array(seed, np.float64).view(np.uint64)))


def random_normal(shape, mean, scale, dtype, seed=None):
    """Normally distributed numbers."""
    return cast(np.asarray(mean + scale * generator(seed).standard_normal(shape)), dtype)


def random_uniform(shape, high, low, dtype, seed=None):
    """Numbers distributed uniformly between two limits."""
    return cast(np.asarray(low + (high - low) * generator(seed).random(shape)), dtype)


def bernoulli(x, dtype, seed=None):
    """1 with the probability that each element states, else 0."""
    return cast(np.asarray(generator(seed).random(x.shape) < doubled(x)), dtype)


def multinomial(x, count, dtype, seed=None):
    """Indices of columns, drawn by unnormalised log-probabilities."""
    ends = np.cumsum(soft_max(doubled(x), 1)[0], 1)
    drawn = generator(seed).random((x.shape[0], count)) * ends[:, -1:]
    return cast(np.sum(drawn[:, :, None] >= ends[:, None, :], 2), dtype)


def training_dropout(x, ratio, training, seed=None):
    """Elements dropped with a probability, the others scaled so that the mean stays; and which were kept."""
    share = 0.5 if ratio is None else number(ratio)
    if not number(training) or share == 0:
        return x, np.ones(x.shape, np.bool_)
    kept = generator(seed).random(x.shape) >= share
    return cast(np.where(kept, doubled(x) / (1 - share), 0.0), x.dtype), kept
