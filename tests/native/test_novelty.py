"""Nearest vectors against NumPy in float64, near the threshold as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irfuzz._native import Novelty

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("instruction_set")]


def distances(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.sqrt(((vectors.astype(float)[:, None] - others.astype(float)[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("dimensions", [1, 2, 5, 16, 33, 128])
def test_the_nearest_vector(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    seen = rng.standard_normal((1500, dimensions)).astype(np.float32)
    seen[::5] *= np.float32(100)
    seen[3::50] = seen[1]  # equally near ones
    vectors = np.concatenate([rng.standard_normal((70, dimensions)), seen[:150]]).astype(np.float32)
    novelty = Novelty(dimensions)
    assert [part.tolist() for part in novelty.nearest(vectors[:1])] == [[np.inf], [-1]]
    novelty.add(seen)
    want = distances(vectors, seen)
    for threads in (1, 3):
        found, indices = novelty.nearest(vectors, threads=threads)
        assert found == pytest.approx(want.min(axis=1), rel=1e-12)
        assert np.array_equal(want[np.arange(len(vectors)), indices], want.min(axis=1))
    assert indices[70 + 3] == 1
    assert len(novelty) == 1500


@pytest.mark.property
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([1.0, 1e-30, 1e-42, 1e18, 3e38]))
def test_what_is_novel_is_decided_exactly(seed: int, dimensions: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = (rng.integers(-3, 4, (200, dimensions)) / 4 * size).astype(np.float32)
    kept: list[np.ndarray] = []
    threshold = float(np.median(distances(vectors[:40], vectors[40:80])))  # itself a distance: never novel at it
    want = []
    for vector in vectors:
        near = distances(vector[None], np.array(kept)).min() if kept else np.inf
        want.append((near, near > threshold))
        if near > threshold:
            kept.append(vector)
    novelty = Novelty(dimensions)
    found, added = novelty.add_novel(vectors, threshold, threads=2)
    assert found == pytest.approx([near for near, _ in want], rel=1e-12)
    close = np.abs(found - threshold) <= 1e-12 * threshold  # sums in another order may differ in the last bit
    assert close.any() or (added == [novel for _, novel in want]).all()
    assert len(novelty) == added.sum()


def test_near_the_threshold() -> None:
    step = np.float32(2**-20)
    novelty = Novelty(64)
    novelty.add(np.full((1, 64), 3, np.float32))
    others = np.full((3, 64), 3, np.float32)
    others[:, 5] += np.array([1 - step, 1, 1 + step], np.float32)
    found, added = novelty.add_novel(others, 1.0)
    assert found[:2].tolist() == [1 - 2**-20, 1.0]
    assert added.tolist() == [False, False, True]


ONE = np.zeros((1, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Novelty(0), ValueError, "dimensions must be in 1 to 100000, got 0"),
        (lambda: Novelty(3).add(ONE[0]), ValueError, r"must have shape \(n, 3\), got \(3,\)"),
        (lambda: Novelty(2).add(ONE), ValueError, r"must have shape \(n, 2\), got \(1, 3\)"),
        (lambda: Novelty(3).add(ONE.astype(float)), TypeError, "of dtype float32, got float64"),
        (lambda: Novelty(3).add(ONE + np.float32(np.nan)), ValueError, "number 0 of vector 0 is nan"),
        (lambda: Novelty(3).add_novel(ONE, -1.0), ValueError, "threshold must be 0 or more"),
        (lambda: Novelty(3).nearest(ONE, threads=0), ValueError, "threads must be in 1 to 1024"),
    ],
)
def test_what_cannot_be_compared_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
