# pyright: basic
"""Random numbers, repeatable: each seed has a generator of its own, and without one it is always the same."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, doubled, number
from irfuzz.export.array.support.elementwise import soft_max


def generator(seed):
    """A generator of numbers; ONNX's seeds are floats."""
    return np.random.default_rng(0 if seed is None else int(np.array(seed, np.float64).view(np.uint64)))


def random_normal(shape, dtype, mean=0.0, scale=1.0, seed=None):
    """ONNX RandomNormal."""
    return cast(np.asarray(mean + scale * generator(seed).standard_normal(shape)), dtype)


def random_normal_like(x, dtype=None, mean=0.0, scale=1.0, seed=None):
    """ONNX RandomNormalLike."""
    return random_normal(x.shape, x.dtype if dtype is None else dtype, mean, scale, seed)


def random_uniform(shape, dtype, high=1.0, low=0.0, seed=None):
    """ONNX RandomUniform."""
    return cast(np.asarray(low + (high - low) * generator(seed).random(shape)), dtype)


def random_uniform_like(x, dtype=None, high=1.0, low=0.0, seed=None):
    """ONNX RandomUniformLike."""
    return random_uniform(x.shape, x.dtype if dtype is None else dtype, high, low, seed)


def bernoulli(x, dtype=None, seed=None):
    """ONNX Bernoulli: 1 with the probability that each element states, else 0."""
    return cast(np.asarray(generator(seed).random(x.shape) < doubled(x)), x.dtype if dtype is None else dtype)


def multinomial(x, dtype, sample_size=1, seed=None):
    """ONNX Multinomial: indices of columns, drawn by unnormalised log-probabilities."""
    ends = np.cumsum(soft_max(doubled(x), 1)[0], 1)
    drawn = generator(seed).random((x.shape[0], sample_size)) * ends[:, -1:]
    return cast(np.sum(drawn[:, :, None] >= ends[:, None, :], 2), dtype)


def dropout(x, ratio=None, training=None, seed=None):
    """ONNX Dropout: the input itself, or in training without a part of its elements, the others scaled; which stay."""
    share = 0.5 if ratio is None else number(ratio)
    if not number(training) or share == 0:
        return x, np.ones(x.shape, np.bool_)
    kept = generator(seed).random(x.shape) >= share
    return cast(np.where(kept, doubled(x) / (1 - share), 0.0), x.dtype), kept
