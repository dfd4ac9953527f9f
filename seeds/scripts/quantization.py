"""Turns trained weights into integers with scales that are powers of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WEIGHT_LIMIT = 63
"""Weights use seven bits: a pair of products of unsigned and signed bytes then fits in 16 bits, as CPUs without
VNNI need (onnxruntime's documentation calls it ``reduce_range``)."""


@dataclass(frozen=True, slots=True)
class Weight:
    """``real = integers * scale``, with one scale an output channel, or one for all.

    Attributes:
        integers: int8, the output channel first.
        scale: float32[M] or float32[].
    """

    integers: np.ndarray
    scale: np.ndarray


def scale_for(largest: np.ndarray | float, limit: int) -> np.ndarray:
    """The smallest powers of two that bring magnitudes up to ``largest`` within ``limit`` steps, float32.

    With powers of two every product, sum and division by a scale is exact in float32 as long as integers stay below
    2**24, so that all correct implementations give the same integers, in whatever order they sum.
    """
    return np.exp2(np.ceil(np.log2(np.maximum(np.asarray(largest, np.float64), 2.0**-20) / limit))).astype(np.float32)


def weight(real: np.ndarray, *, per_channel: bool) -> Weight:
    """Quantise a weight symmetrically.

    Args:
        real: float32[M, ...].
        per_channel: one scale for each of the M output channels.
    """
    axes = tuple(range(1, real.ndim)) if per_channel else None
    scale = scale_for(np.abs(real).max(axis=axes), WEIGHT_LIMIT)
    steps = real / scale.reshape((-1,) + (1,) * (real.ndim - 1) if per_channel else ())
    return Weight(np.clip(np.rint(steps), -WEIGHT_LIMIT, WEIGHT_LIMIT).astype(np.int8), scale)


def bias(real: np.ndarray, input_scale: np.ndarray, weight_scale: np.ndarray) -> np.ndarray:
    """int32[M], in steps of input scale times weight scale, as QLinearConv (version 10) defines it."""
    return np.rint(real / (input_scale * weight_scale)).astype(np.int32)
