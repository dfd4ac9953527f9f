"""CRADLE's distances on numbers computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.oracle.cradle_distances import (
    CLASS_BINS,
    MAD_BINS,
    RANKS,
    THRESHOLDS,
    Inconsistency,
    Metric,
    class_distances,
    deviation,
    mad_distances,
    pattern,
    unique,
)

pytestmark = pytest.mark.unit


def test_class_distance_of_every_rank() -> None:
    """Ranks 1 to 6 score 16, 8, 4, 2, 1, 0 (equation 1); against rank 1 that is 0, 8, 12, 14, 15, 16 (equation 2)."""
    best = np.tile(np.array([9, 5, 4, 3, 2, 1], np.float32), (6, 1))
    other = np.array([[5.5 - r if c == 0 else 6 - c for c in range(6)] for r in range(6)], np.float32)
    assert class_distances(best, other, np.zeros(6, np.int64)).tolist() == [0, 8, 12, 14, 15, 16]


def test_mad_distance_of_the_papers_example() -> None:
    """Deviations 0.4 and 0.1 give |0.4 - 0.1| / (0.4 + 0.1) = 0.6 (section III.B)."""
    truth = np.zeros((1, 1))
    assert mad_distances(np.array([[0.4]]), np.array([[-0.1]]), truth).tolist() == pytest.approx([0.6])
    assert deviation(np.array([[1.0, -3.0]]), np.array([[0.0, 1.0]])).tolist() == [2.5]
    images, truths = np.arange(8.0).reshape(2, 2, 2), np.zeros(8)
    assert deviation(images, truths).tolist() == [1.5, 5.5]


def test_mad_distance_at_its_edges() -> None:
    a = np.array([[1.0], [np.nan], [np.nan], [2.0], [np.inf]])
    b = np.array([[1.0], [1.0], [np.nan], [1.0], [0.0]])
    assert mad_distances(a, b, np.ones((5, 1))).tolist() == [0, 1, 0, 1, 1]


def test_patterns() -> None:
    assert pattern(np.array([16, 15, 8, 7, 4, 3, 2, 1, 0, 0], np.float64), Metric.CLASS) == (1, 2, 2, 2, 1, 2)
    assert pattern(np.array([1.0, 0.85, 0.79, 0.5, 0.25, 0.1, 0.0]), Metric.MAD) == (2, 1, 1, 1, 2)


def test_triggering_and_unique() -> None:
    """At T = 8 a distance of 8 triggers; equal patterns are one inconsistency; p is a share that must be exceeded."""
    rows = [[8, 0, 0, 0], [0, 0, 8, 0], [16, 0, 0, 0], [7, 7, 7, 7]]
    pairs = [Inconsistency(("a", str(i)), Metric.CLASS, np.array(r, np.float64), 8.0) for i, r in enumerate(rows)]
    assert [p.triggering.tolist() for p in pairs] == [[0], [2], [0], []]
    assert [p.inconsistent for p in pairs] == [True, True, True, False]
    assert [[p.targets[1] for p in group] for group in unique(pairs)] == [["0", "1"], ["2"]]
    assert not Inconsistency(("a", "b"), Metric.CLASS, np.array([8.0, 0, 0, 0]), 8.0, 0.25).inconsistent


def test_of_each_pattern_the_bins_end_where_the_paper_ends_them() -> None:
    assert pattern(np.array([0.2, 0.4, 0.6, 0.8, 1.0]), Metric.MAD) == (2, 1, 1, 1, 0)
    assert pattern(np.array([0.0]), Metric.MAD) == (0, 0, 0, 0, 1)
    assert pattern(np.array([0.0]), Metric.CLASS) == (0, 0, 0, 0, 0, 1)
    assert Inconsistency(("a", "b"), Metric.MAD, np.array([0.5]), 0.2).pattern == (0, 0, 1, 0, 0)


def test_settings_are_those_of_the_paper() -> None:
    assert THRESHOLDS == {Metric.CLASS: 8.0, Metric.MAD: 0.2}
    assert (RANKS, len(CLASS_BINS), len(MAD_BINS)) == (5, 6, 5)
    scores, labels = np.eye(3, dtype=np.float32), np.arange(3)
    assert class_distances(scores, np.roll(scores, 1, 0), labels, k=1).tolist() == [1, 1, 1]
    one = Inconsistency(("a", "b"), Metric.CLASS, np.array([8.0, 7.5]), 8.0)
    assert (one.share, one.inconsistent, one.triggering.tolist()) == (0.0, True, [0])
    assert unique([Inconsistency(("a", "b"), Metric.CLASS, np.array([7.5]), 8.0)]) == []
