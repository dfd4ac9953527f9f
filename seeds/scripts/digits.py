"""Scikit-learn's handwritten digits, split into what a seed is trained on and what is held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

HELD_OUT = 360
"""Images never trained on: a fifth of the 1,797."""

MAX_PIXEL = 16
"""Pixels are counts from 0 to 16: ink in a 4x4 block of the scan."""


@dataclass(frozen=True, slots=True)
class Digits:
    """8x8 pixel counts (uint8[N, 8, 8], 0..16) and classes (int64[N], 0..9)."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


def load() -> Digits:
    """Read the data set that ships with scikit-learn and split it, always the same way."""
    pixels, classes = load_digits(return_X_y=True)
    images = np.asarray(pixels).astype(np.uint8).reshape(-1, 8, 8)
    labels = np.asarray(classes).astype(np.int64)
    order = np.random.default_rng(1998).permutation(len(images))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    return Digits(images[train], labels[train], images[test], labels[test])


def enlarge(pixels: np.ndarray, factor: int, border: int) -> np.ndarray:
    """Repeat each pixel and add an empty border.

    Args:
        pixels: uint8[N, 8, 8], 0..16.
        factor: how many times a pixel is repeated along each axis.
        border: empty pixels around the image.

    Returns:
        float32[N, 1, S, S] in [0, 1] with ``S = 8 * factor + 2 * border``; all values are exact in binary.
    """
    large = pixels.repeat(factor, axis=1).repeat(factor, axis=2).astype(np.float32) / MAX_PIXEL
    return np.pad(large, ((0, 0), (border, border), (border, border)))[:, None]
