"""Solves linear equations within limits, approximately: unknowns that would leave their limits are held there."""

from __future__ import annotations

import numpy as np

RIDGE = 1e-12
"""Of the mean square of a matrix' singular values: keeps normal equations solvable if rows depend on one another."""

ROUNDS = 10
"""Times that unknowns are held at their limits; each holds all that are beyond."""


def within(matrix: np.ndarray, wanted: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A short ``x`` within limits with ``matrix @ x`` near ``wanted``.

    It is no minimum: what was held once stays so.

    Args:
        matrix: of the equations.
        wanted: its right side.
        low: lower limit of each unknown.
        high: upper limits.

    Returns:
        ``x``, and which of its elements were left free.
    """
    free, x = (matrix != 0).any(axis=0), np.clip(0.0, low, high)
    for _ in range(ROUNDS):
        if not free.any():
            break
        x[free] = shortest(matrix[:, free], wanted - matrix[:, ~free] @ x[~free])
        beyond = free & ((x < low) | (x > high))
        if not beyond.any():
            break
        x = np.clip(x, low, high)
        free &= ~beyond
    return np.clip(x, low, high), free


def shortest(matrix: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The shortest solution of least squares, by normal equations, which lose half of the digits.

    Args:
        matrix: of the equations.
        wanted: its right side, or several side by side.
    """
    wide = matrix.shape[0] <= matrix.shape[1]
    square = matrix @ matrix.T if wide else matrix.T @ matrix
    square[np.diag_indices_from(square)] += max(RIDGE * float(np.trace(square)) / len(square), 1e-300)
    return matrix.T @ np.linalg.solve(square, wanted) if wide else np.linalg.solve(square, matrix.T @ wanted)
