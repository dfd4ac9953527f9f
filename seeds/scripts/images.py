"""Makes pictures of gratings to calibrate and probe networks with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def gratings(count: int, shape: Sequence[int], seed: int) -> np.ndarray:
    """Sums of three plane waves of random direction, one mix of channels each, and a little noise.

    They differ from each other in every channel and at every scale, as photographs do and white noise does not.

    Args:
        count: how many.
        shape: channels, then the size along each spatial axis (one to three of them).
        seed: of the generator.

    Returns:
        float32[count, 1, *shape] in [0, 1], in steps of 1/255: the second axis is the batch.
    """
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*(np.linspace(0, 1, n) for n in shape[1:]), indexing="ij"))
    made = np.zeros((count, *shape))
    for image in made:
        for _ in range(3):
            direction = rng.uniform(-5, 5, len(grid))
            wave = np.sin(2 * np.pi * (np.tensordot(direction, grid, 1) + rng.random()))
            image += rng.uniform(-1, 1, (shape[0],) + (1,) * len(grid)) * wave
        image += rng.normal(0, 0.1, shape) + rng.normal(0, 0.3, (shape[0],) + (1,) * len(grid))
    steps = np.rint(255 / (1 + np.exp(-2 * made)))
    return (steps / 255).astype(np.float32)[:, None]
