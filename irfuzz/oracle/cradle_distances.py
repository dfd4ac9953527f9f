"""CRADLE's distances, patterns and inconsistencies of two targets' outputs and the ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from irfuzz._native import class_scores

RANKS = 5
"""Ranks that count (k of equation 1)."""

CLASS_BINS = ("16", "15-8", "7-4", "3-2", "1", "0")
MAD_BINS = ("1-0.8", "0.8-0.6", "0.6-0.4", "0.4-0.2", "0.2-0")


class Metric(StrEnum):
    """How two outputs are measured against the ground truth."""

    CLASS = "class"
    """Equations 1 and 2: by the rank of the right class."""
    MAD = "mad"
    """Equations 3 and 4: by the mean absolute deviation from the truth."""


THRESHOLDS: Mapping[Metric, float] = {Metric.CLASS: 8.0, Metric.MAD: 0.2}
"""T_C and T_M, the paper's best settings (section V)."""


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """What two targets make of the same labelled inputs.

    Attributes:
        targets: names of the two.
        metric: how they were measured.
        distances: one for each sample, float64: 0 to 16 (class) or 0 to 1 (MAD).
        threshold: a distance of at least this makes a sample an inconsistency-triggering input ("larger than", writes
            section III.B, but by its own examples T_C = 16 and T_C = 1 are reached by distances of 16 and 1).
        share: the pair is inconsistent if more than this share of the samples trigger (``p``).
    """

    targets: tuple[str, str]
    metric: Metric
    distances: np.ndarray
    threshold: float
    share: float = 0.0

    @property
    def triggering(self) -> np.ndarray:
        """Indices of the inconsistency-triggering samples."""
        return np.flatnonzero(self.distances >= self.threshold)

    @property
    def inconsistent(self) -> bool:
        """Whether the pair is."""
        return len(self.triggering) > self.share * len(self.distances)

    @property
    def pattern(self) -> tuple[int, ...]:
        """The inconsistency pattern: how many samples fall in each of ``CLASS_BINS`` or ``MAD_BINS``."""
        return pattern(self.distances, self.metric)


def class_distances(a: np.ndarray, b: np.ndarray, labels: np.ndarray, k: int = RANKS) -> np.ndarray:
    """The class-based distance (equation 2) of each sample: ``|sigma(a) - sigma(b)|``, 0 to ``2**(k - 1)``.

    Args:
        a: scores, shape (samples, classes).
        b: the same.
        labels: the right class of each sample.
        k: ranks that count.
    """
    return np.abs(class_scores(a, labels, k=k) - class_scores(b, labels, k=k))


def deviation(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Mean absolute deviation of each sample from the truth (equation 3), float64.

    Args:
        values: shape (samples, ...).
        truth: as many elements.
    """
    wide = values.reshape(len(values), -1).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.abs(wide - truth.reshape(wide.shape).astype(np.float64)).mean(axis=1)


def mad_distances(a: np.ndarray, b: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The MAD-based distance (equation 4) of each sample: ``|d_a - d_b| / (d_a + d_b)``, 0 to 1.

    Two exact outputs have distance 0; of two of which one is NaN or infinite the distance is 1, of two such ones 0.
    """
    one, two = deviation(a, truth), deviation(b, truth)
    broken = np.isfinite(one) != np.isfinite(two)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        distances = np.abs(one - two) / (one + two)
    return np.where(broken, 1.0, np.where(np.isfinite(distances), distances, 0.0))


def pattern(distances: np.ndarray, metric: Metric) -> tuple[int, ...]:
    """The histogram of distances, the largest first, as ``CLASS_BINS`` and ``MAD_BINS`` name its bins.

    Args:
        distances: of one pair on each input, one row.
        metric: which bins: six by powers of two for ``CLASS``, five of width 0.2 for ``MAD``.

    Returns:
        How many distances each bin holds; equal tuples are one pattern for ``unique``.
    """
    if metric is Metric.CLASS:
        places = np.searchsorted([1.0, 2.0, 4.0, 8.0, 16.0], distances, side="right")
        return tuple(np.bincount(places, minlength=6)[::-1].tolist())
    places = np.minimum((distances * 5).astype(np.int64), 4)
    return tuple(np.bincount(places, minlength=5)[::-1].tolist())


def unique(found: Sequence[Inconsistency]) -> list[list[Inconsistency]]:
    """Inconsistent pairs by pattern: those of one pattern are one unique inconsistency (section III.D).

    Args:
        found: pairs with their patterns; those that are not ``inconsistent`` are left out.

    Returns:
        One list for each metric and pattern, in the order in which these first occur.
    """
    groups: dict[tuple[str, tuple[int, ...]], list[Inconsistency]] = {}
    for pair in found:
        if pair.inconsistent:
            groups.setdefault((pair.metric, pair.pattern), []).append(pair)
    return list(groups.values())
